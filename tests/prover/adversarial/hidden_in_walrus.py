# not proved: a walrus evaluates what it binds
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    if (x := lookup("a")) == "b":
        log(x)
