# refuted: True matches 1
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay

import lictor_layer


@lictor_layer.guarantee(c.no_pay())
def main(p: bool) -> None:
    match p:
        case 1:
            pay("a", 1)
        case _:
            pass
