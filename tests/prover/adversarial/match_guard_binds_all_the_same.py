# refuted: what a failed guard bound stays
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number, pay

import lictor_layer


@lictor_layer.guarantee(c.each_at_most(3))
def main() -> None:
    n = 0
    match number():
        case n if n > 100:
            pass
        case _:
            if n < 50:
                pay("a", n * n)
