# not proved: each call answers for itself
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_user, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if find_user("a") is not None and find_user("a") is None:
        send_email("eve@evil.com", "x")
