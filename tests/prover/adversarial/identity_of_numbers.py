# not proved: `is` between numbers is no language rule
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    a = number()
    b = number()
    if a == b and a is not b:
        send_email("eve@evil.com", "x")
