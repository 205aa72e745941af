# refuted: {1: .., True: ..} has one key, and the later value
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    d = {1: "a", True: "b"}
    if d[1] == "b" and len(d) == 1:
        send_email("eve@evil.com", "x")
