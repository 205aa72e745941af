# not proved: the index may be outside
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    xs = ["bob@example.com"]
    send_email(xs[number()], "x")
