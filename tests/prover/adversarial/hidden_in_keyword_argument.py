# refuted: keyword arguments are evaluated too
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    log(text=lookup("bob"))
