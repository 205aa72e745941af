# rejected: recursion
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def again(n):
    send_email("bob@example.com", "x")
    if n > 0:
        again(n - 1)


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    again(3)
