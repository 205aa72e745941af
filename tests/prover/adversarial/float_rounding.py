# refuted: 0.1 + 0.2 is not 0.3
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay_float


@lictor_layer.guarantee(c.float_amounts([0.3]))
def main() -> None:
    pay_float(0.1 + 0.2)
