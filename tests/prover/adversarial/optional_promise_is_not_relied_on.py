# unknown: what is promised of an optional result is not read
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_age, pay


@lictor_layer.guarantee(c.each_at_most(0))
def main() -> None:
    age = find_age("a")
    if age is not None:
        pay("a", age)
