# refuted: an index is evaluated
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    xs = ["bob@example.com", "eve@evil.com"]
    n = number()
    if n == 0 or n == 1:
        send_email(xs[n], "x")
