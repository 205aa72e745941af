# refuted: the filter is evaluated too
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    found = [a for a in ["x", "y"] if lookup(a) == "z"]
