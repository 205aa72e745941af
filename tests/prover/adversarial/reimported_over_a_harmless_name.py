# not proved: the second import replaces the first
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log
from tools.desk.trusted.effects import lookup as log


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    log("bob")
