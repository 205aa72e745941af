# proved: the item may be missing: the run may end there, and nothing was sent
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = ["a"]
    xs.remove(lookup("x"))
