# not proved: some row's door stays open
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import users, unlock


@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    for row in users():
        unlock(row.name)
