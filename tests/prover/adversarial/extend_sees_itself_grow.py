# not proved: the list grows while it is extended
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, users

import lictor_layer


@lictor_layer.guarantee(c.amounts([0]))
def main() -> None:
    xs = [0]
    xs.extend(len(xs) for user in users())
    pay("a", xs[-1])
