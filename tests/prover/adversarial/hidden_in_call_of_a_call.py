# not proved: the result of a call is called
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def pick():
    return send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    pick()("eve@evil.com", "x")
