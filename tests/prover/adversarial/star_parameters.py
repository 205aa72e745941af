# not proved: a helper that takes anything
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def helper(*args):
    send_email(args[0], "x")


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    helper("eve@evil.com")
