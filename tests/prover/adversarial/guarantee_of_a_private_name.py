# not proved: a relation is no contract
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.Send.empty())
def main() -> None:
    log("x")
