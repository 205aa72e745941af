# not proved: two names, three values
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    a, b = [1, 2, 3]
