# not proved: the divisor may be zero
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = 10 // number()
