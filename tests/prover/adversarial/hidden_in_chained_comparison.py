# refuted: the middle operand is evaluated once, and it is evaluated
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    if "a" < lookup("x") < "z":
        log("between")
