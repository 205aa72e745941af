# not proved: the name is gone
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = "a"
    del x
    log(x)
