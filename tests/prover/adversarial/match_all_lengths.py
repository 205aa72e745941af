# proved: there are at most three users
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, users

import lictor_layer


@lictor_layer.guarantee(c.no_pay())
def main() -> None:
    match users():
        case [] | [_] | [_, _] | [_, _, _]:
            pass
        case _:
            pay("a", 1)
