# refuted: a string is no sequence of characters
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay

import lictor_layer


@lictor_layer.guarantee(c.no_pay())
def main(s: str) -> None:
    match s:
        case [*_]:
            pass
        case _:
            pay("a", 1)
