# not proved: the contract takes none
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent(1))
def main() -> None:
    log("x")
