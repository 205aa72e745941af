# not proved: the key may be missing
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    d = {"a": 1}
    d.pop(lookup("x"))
