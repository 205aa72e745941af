# not proved: NaN is not greater than 5, and is paid
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay_float, rate


@lictor_layer.guarantee(c.float_at_most(5.0))
def main() -> None:
    x = rate()
    if x > 5.0:
        x = 5.0
    pay_float(x)
