# not proved: xs[1:] of one item is empty
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = [1]
    if sum(xs[1:]) == 0:
        send_email("eve@evil.com", "x")
