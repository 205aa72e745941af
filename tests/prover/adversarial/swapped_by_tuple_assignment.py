# not proved: a, b = b, a swaps
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    a = "bob@example.com"
    b = "eve@evil.com"
    a, b = b, a
    send_email(a, "x")
