# not proved: a billion iterations are refused, quickly
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for i in range(1000000000):
        log("x")
