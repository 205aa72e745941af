# not proved: the age that is known may be any
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_age, pay


@lictor_layer.guarantee(c.each_at_most(18))
def main() -> None:
    pay("a", find_age("a") or 18)
