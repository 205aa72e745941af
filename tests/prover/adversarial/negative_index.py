# refuted: xs[-1] is the last
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["a"]))
def main() -> None:
    xs = ["a", "b"]
    send_email(xs[-1], "m")
