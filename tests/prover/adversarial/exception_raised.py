# refuted: the path that raises can be taken
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import is_allowed


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if is_allowed("x"):
        raise ValueError("no")
