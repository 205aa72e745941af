# proved: locked at the end of every completed run
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, unlock, lock


@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    unlock("front")
    log("x")
    lock("front")
