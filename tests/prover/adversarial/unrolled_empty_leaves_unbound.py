# not proved: nothing was bound
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for x in []:
        log("never")
    log(x)
