# not proved: it is made smaller, and may be negative
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import refund, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = 0
    for user in users():
        if user.active:
            n += 1
        else:
            n -= 1
    refund(n)
