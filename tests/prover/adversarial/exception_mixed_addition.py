# not proved: str + int raises
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = "a" + 1
