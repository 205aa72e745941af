# not proved: there is no such contract
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.nobody_wrote_this())
def main() -> None:
    log("x")
