# not proved: an assertion evaluates its condition
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    assert lookup("x") == lookup("x") or True
