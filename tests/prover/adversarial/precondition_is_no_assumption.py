# refuted: that refund demands it does not make it so for pay
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, refund, number


@lictor_layer.guarantee(c.spend_at_least(0))
def main() -> None:
    n = number()
    refund(n)
    pay("a", n)
