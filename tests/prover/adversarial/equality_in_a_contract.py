# not proved: True is among [1], as the contract's `in` must know
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay


@lictor_layer.guarantee(c.amounts([2, 3]))
def main() -> None:
    pay("a", True)
