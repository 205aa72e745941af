# proved: one result is one value
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_user, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    user = find_user("a")
    if user is not None and user is None:
        send_email("eve@evil.com", "x")
