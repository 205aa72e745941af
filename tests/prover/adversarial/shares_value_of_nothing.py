# refuted: nobody was told, so nothing is shared
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.copied_to_audit())
def main() -> None:
    log("x")
