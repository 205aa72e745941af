# not proved: min(nan, 5.0) is NaN, which is not at most 5
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay_float, rate


@lictor_layer.guarantee(c.float_at_most(5.0))
def main() -> None:
    pay_float(min(rate(), 5.0))
