# refuted: a bare name is no constant
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number, pay

import lictor_layer


@lictor_layer.guarantee(c.no_pay())
def main() -> None:
    LIMIT = 5
    match number():
        case LIMIT if LIMIT > 100:
            pay("a", LIMIT)
        case _:
            pass
