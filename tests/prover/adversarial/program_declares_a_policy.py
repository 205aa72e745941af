# rejected: policies belong to layers
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


POLICY = []


@lictor_layer.requires(lambda: True)
def helper():
    log("x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    helper()
