# refuted: each payment is bounded, not only the sum
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay


@lictor_layer.guarantee(c.spend(10))
@lictor_layer.guarantee(c.each_at_most(10))
def main() -> None:
    pay("a", 1000)
    pay("b", -1000)
