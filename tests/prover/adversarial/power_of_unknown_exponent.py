# not proved: the exponent may be negative
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    if 2**n == 0.5:
        send_email("eve@evil.com", "x")
