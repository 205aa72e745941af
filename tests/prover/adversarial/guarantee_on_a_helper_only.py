# not proved: what is promised about a helper says nothing about main, and must not pass silently
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def helper() -> None:
    log("x")


def main() -> None:
    send_email("eve@evil.com", "x")
