# rejected: the value is a call on import
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, lookup


X = lookup("bob")


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    log("fine")
