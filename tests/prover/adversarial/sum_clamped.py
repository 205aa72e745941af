# proved: at most five each
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, number


@lictor_layer.guarantee(c.spend(10))
def main() -> None:
    pay("a", min(number(), 5))
    pay("b", min(number(), 5))
