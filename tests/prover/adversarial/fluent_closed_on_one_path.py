# refuted: on the other it stays open
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import is_allowed, unlock, lock


@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    unlock("front")
    if is_allowed("x"):
        lock("front")
