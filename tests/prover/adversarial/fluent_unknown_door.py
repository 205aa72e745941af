# refuted: the unknown door may be the front
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup, unlock


@lictor_layer.guarantee(c.locked("front"))
def main() -> None:
    unlock(lookup("x"))
