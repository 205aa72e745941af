# not proved: a generator function does nothing until it is iterated, then all of it
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def gen():
    send_email("eve@evil.com", "x")
    yield 1


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for x in gen():
        log("x")
