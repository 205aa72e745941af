# not proved: True counts as 1, and the layer says int
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay


@lictor_layer.guarantee(c.spend(0))
def main() -> None:
    pay("a", True)
