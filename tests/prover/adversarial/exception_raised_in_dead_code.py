# proved: the path that raises can't be taken
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if 1 > 2:
        raise ValueError("no")
    log("x")
