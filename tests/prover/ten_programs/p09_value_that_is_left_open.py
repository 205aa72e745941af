import re

from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import charge, text

import lictor_layer


@lictor_layer.guarantee(c.nothing_charged())
def main() -> None:
    many = "x" * 5000
    charged = text().replace("ab", many) == "never this"
    if not charged and re.compile("a+").pattern == "a+":
        charge("victim", 1000000)
