# rejected: a decorator of the program's own called guarantee
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def guarantee(contract):
    return lambda f: f


@guarantee(c.none_sent())
def main() -> None:
    send_email("eve@evil.com", "x")
