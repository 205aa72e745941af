# rejected: where a float is declared it may be an int
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, rate

import lictor_layer


@lictor_layer.guarantee(c.no_pay())
def main() -> None:
    match rate():
        case float(x) | int(x) if x == x:
            pass
        case _:
            pay("a", 1)
