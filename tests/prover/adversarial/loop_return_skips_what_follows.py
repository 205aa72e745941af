# not proved: with a row, the lock is skipped
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import users, unlock, lock


@lictor_layer.guarantee(c.locked("front"))
def main() -> None:
    unlock("front")
    for row in users():
        return
    lock("front")
