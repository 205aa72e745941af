# refuted: "abc"[-2:] is "bc"
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["ab"]))
def main() -> None:
    send_email("abc"[-2:], "m")
