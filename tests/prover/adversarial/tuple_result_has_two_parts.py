# rejected: it has two parts
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import page


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    rows, cursor, other = page("")
