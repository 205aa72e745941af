# not proved: it asks for one after the other
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay

import lictor_layer


@lictor_layer.guarantee(c.pays_at_most(1))
def main() -> None:
    def paid(n):
        pay("a", n)
        return n > 1

    next((n for n in (0, 1, 2) if paid(n)), None)
