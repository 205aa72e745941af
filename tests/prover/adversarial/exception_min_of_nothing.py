# not proved: min of an empty list raises
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = min([])
