# not proved: what was first is second now
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    xs = ["bob@example.com"]
    xs.insert(0, "eve@evil.com")
    send_email(xs[0], "x")
