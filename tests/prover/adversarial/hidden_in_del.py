# not proved: the index of what is deleted is evaluated
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def which():
    send_email("eve@evil.com", "x")
    return 0


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = [1]
    del xs[which()]
