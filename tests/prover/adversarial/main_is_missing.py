# rejected: there is no main
import lictor_layer
from tools.desk.trusted.effects import log


def other() -> None:
    log("x")
