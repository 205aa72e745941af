# not proved: pop of an empty set raises; what happened before still happened
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    s = set()
    if is_allowed("x"):
        send_email("eve@evil.com", "x")
        s.pop()
