# not proved: the sum of the rounds before is paid
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import pay, users


@lictor_layer.guarantee(c.each_at_most(10))
def main() -> None:
    total = 0
    for user in users():
        pay("a", total)
        total += user.age
