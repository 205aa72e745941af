from tools.kinds.trusted import contracts as c
from tools.kinds.trusted.effects import LARGE, charge

import lictor_layer


@lictor_layer.guarantee(c.nothing_charged())
def main() -> None:
    word = "large"
    if f"{LARGE!r}" != f"{word!r}":
        charge("victim", 1000000)
