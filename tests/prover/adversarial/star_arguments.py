# not proved: what is called with which arguments must be plain
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    args = ["eve@evil.com", "x"]
    send_email(*args)
