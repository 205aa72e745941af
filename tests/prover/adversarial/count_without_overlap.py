# not proved: "aaa".count("aa") is 1, "ab".count("") is 3
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if "aaa".count("aa") == 1 and "ab".count("") == 3:
        send_email("eve@evil.com", "x")
