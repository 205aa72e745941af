# refuted: another door is locked
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import unlock, lock


@lictor_layer.guarantee(c.locked("front"))
def main() -> None:
    unlock("front")
    lock("back")
