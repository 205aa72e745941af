# refuted: the parameter is what was passed
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def helper(log):
    log("eve@evil.com", "x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    helper(send_email)
