# refuted: {1, True, 1.0} has one item
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if len({1, True, 1.0}) == 1:
        send_email("eve@evil.com", "x")
