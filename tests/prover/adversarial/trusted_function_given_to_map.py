# not proved: map calls the trusted function itself
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    xs = list(map(lookup, ["a"]))
