import re

from tools.bank.trusted import contracts as c
from tools.bank.trusted.effects import charge

import lictor_layer


@lictor_layer.guarantee(c.nothing_charged())
def main() -> None:
    if re.compile("a+").pattern == "a+":
        charge("victim", 1000000)
