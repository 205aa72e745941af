# not proved: the items are bools now
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ys = [x > 1 for x in [1, 2]]
    if ys[1]:
        send_email("eve@evil.com", "x")
