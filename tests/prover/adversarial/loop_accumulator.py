# not proved: the total is over all rows
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, users


@lictor_layer.guarantee(c.each_at_most(100))
def main() -> None:
    total = 0
    for row in users():
        if row.age <= 100:
            total += row.age
    pay("a", total)
