# not proved: floor(-0.5) is -1
import math
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if math.floor(-0.5) == -1:
        send_email("eve@evil.com", "x")
