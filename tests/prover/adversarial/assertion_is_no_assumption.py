# not proved: with -O assertions vanish, and a failing one is an error
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, number


@lictor_layer.guarantee(c.each_at_most(5))
def main() -> None:
    n = number()
    assert n <= 5
    pay("a", n)
