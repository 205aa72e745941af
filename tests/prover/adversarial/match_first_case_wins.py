# proved: the second case is not reached
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number, pay

import lictor_layer


@lictor_layer.guarantee(c.no_pay())
def main() -> None:
    match number():
        case 1 | 2:
            pass
        case 2:
            pay("a", 1)
