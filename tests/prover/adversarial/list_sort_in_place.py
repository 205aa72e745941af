# not proved: sorted by code points, in place, giving None
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    xs = ["bob@example.com", "a@evil.com"]
    xs.sort()
    send_email(xs[0], "x")
