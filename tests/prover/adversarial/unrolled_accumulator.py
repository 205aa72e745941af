# refuted: 1 + 2 + 3
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay


@lictor_layer.guarantee(c.each_at_most(5))
def main() -> None:
    total = 0
    for x in [1, 2, 3]:
        total += x
    pay("a", total)
