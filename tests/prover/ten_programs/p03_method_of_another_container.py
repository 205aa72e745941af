from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import charge

import lictor_layer


@lictor_layer.guarantee(c.at_most(5))
def main() -> None:
    add = ["ann"].add
    charge("ann", 5)
