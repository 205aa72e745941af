from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import balance, charge, pick

import lictor_layer


@lictor_layer.guarantee(c.nothing_charged())
def main() -> None:
    n = balance("a")
    i = pick(n)
    j = pick(0 - n)
    if i >= 0 and j >= 0:
        charge("victim", 1000000)
