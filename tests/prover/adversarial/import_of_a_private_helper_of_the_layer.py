# not proved: the fluent object is no part of the language
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import DoorLocked


@lictor_layer.guarantee(c.all_locked())
def main() -> None:
    DoorLocked.set("front", False)
