# not proved: the layer has no such name
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log
from tools.desk.trusted.effects import send_everything


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("x")
