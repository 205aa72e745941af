# not proved: which item of a set comes first is open
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.log_is("a"))
def main() -> None:
    for x in {"a", "b"}:
        log(x)
        break
