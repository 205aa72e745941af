# proved: what follows runs only otherwise
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, is_allowed


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if not is_allowed("x"):
        return
    log("x")
