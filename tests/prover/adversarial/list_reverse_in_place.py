# not proved: the last is first
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    xs = ["bob@example.com", "eve@evil.com"]
    xs.reverse()
    send_email(xs[0], "x")
