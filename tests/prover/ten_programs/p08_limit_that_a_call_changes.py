from tools.limits.trusted import contracts as c
from tools.limits.trusted import effects

import lictor_layer


@lictor_layer.guarantee(c.at_most(5))
def main() -> None:
    effects.raise_limit()
    effects.charge("victim", effects.LIMIT)
