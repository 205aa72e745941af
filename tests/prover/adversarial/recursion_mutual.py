# rejected: cyclic helpers
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def ping(n):
    send_email("bob@example.com", "x")
    pong(n)


def pong(n):
    ping(n)


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    ping(1)
