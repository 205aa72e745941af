from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import charge

import lictor_layer


@lictor_layer.guarantee(c.nothing_charged())
def main() -> None:
    if f"{5!s:3}" == "5  ":
        charge("victim", 1000000)
