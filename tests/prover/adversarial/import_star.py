# rejected: wildcard imports bind what nobody sees
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log
from tools.desk.trusted.effects import *


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("x")
