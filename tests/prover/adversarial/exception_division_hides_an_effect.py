# not proved: the call after the error does not happen, the one before does
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    send_email("eve@evil.com", "x")
    x = 1 // 0
