# refuted: an assertion that may fail
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    assert number() > 0
