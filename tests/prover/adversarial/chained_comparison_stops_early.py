# proved: the third operand is not evaluated when the first comparison fails
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    if 2 < 1 < len(lookup("x")):
        log("between")
