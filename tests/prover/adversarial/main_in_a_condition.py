# rejected: main is defined only sometimes
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


if True:

    @lictor_layer.guarantee(c.none_sent())
    def main() -> None:
        log("x")
