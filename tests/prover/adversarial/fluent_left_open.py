# refuted: unlocked at the end
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import unlock


@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    unlock("front")
