# refuted: a negative amount lowers the sum
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay


@lictor_layer.guarantee(c.spend_at_least(10))
def main() -> None:
    pay("a", 20)
    pay("b", -15)
