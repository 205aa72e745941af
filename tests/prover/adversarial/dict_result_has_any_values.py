# not proved: the key may have another value
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import ages, pay


@lictor_layer.guarantee(c.each_at_most(5))
def main() -> None:
    pay("a", ages().get("bob@example.com", 5))
