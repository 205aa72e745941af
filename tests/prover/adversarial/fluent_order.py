# refuted: locked first, then unlocked
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import unlock, lock


@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    lock("front")
    unlock("front")
