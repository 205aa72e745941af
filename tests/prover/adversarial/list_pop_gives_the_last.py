# not proved: pop takes from the end
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    xs = ["bob@example.com", "eve@evil.com"]
    send_email(xs.pop(), "x")
