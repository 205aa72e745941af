# not proved: it never ends
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay

import lictor_layer


@lictor_layer.guarantee(c.each_at_most(1))
def main() -> None:
    xs = [1]
    xs.extend(x for x in xs)
    pay("a", 2)
