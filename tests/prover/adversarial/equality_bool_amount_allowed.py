# proved|rejected: True is 1
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay


@lictor_layer.guarantee(c.amounts([1]))
def main() -> None:
    pay("a", 1)
