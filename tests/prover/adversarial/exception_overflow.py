# not proved: the float is too large, or the power is
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = 10.0**400
