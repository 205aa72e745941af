# not proved: int("٣") is 3
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if int("\u0663") == 3:
        send_email("eve@evil.com", "x")
