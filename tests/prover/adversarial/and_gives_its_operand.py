# refuted: 3 and 5 is 5
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay


@lictor_layer.guarantee(c.each_at_most(4))
def main() -> None:
    pay("a", 3 and 5)
