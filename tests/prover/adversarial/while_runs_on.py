# not proved: what is paid grows with every round
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number, pay


@lictor_layer.guarantee(c.each_at_most(2))
def main() -> None:
    n = 0
    while number() > n:
        n += 1
        pay("a", n)
