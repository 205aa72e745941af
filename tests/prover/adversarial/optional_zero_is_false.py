# not proved: 0 is no None
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_age, pay


@lictor_layer.guarantee(c.no_pay())
def main() -> None:
    age = find_age("a")
    if not age and age is not None:
        pay("a", age)
