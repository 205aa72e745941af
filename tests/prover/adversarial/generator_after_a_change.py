# not proved: the list is cleared before it is added up
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay

import lictor_layer


@lictor_layer.guarantee(c.amounts([1]))
def main() -> None:
    xs = [1]

    def cleared():
        xs.clear()
        return 0

    pay("a", sum((x for x in xs), cleared()))
