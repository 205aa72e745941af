# refuted: a bool is an int
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay

import lictor_layer


@lictor_layer.guarantee(c.no_pay())
def main(p: bool) -> None:
    match p:
        case int():
            pay("a", 1)
