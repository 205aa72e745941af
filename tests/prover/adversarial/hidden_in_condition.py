# refuted: a condition is evaluated whatever it gives
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    if lookup("bob") == "never":
        log("equal")
