# refuted: the start is evaluated first
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log

import lictor_layer


@lictor_layer.guarantee(c.log_is("start"))
def main() -> None:
    def told(n):
        log("item")
        return n

    sum((told(n) for n in (1, 2)), len("x"))
