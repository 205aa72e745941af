# proved: nothing after the break
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["a"]))
def main() -> None:
    for x in ["a", "b"]:
        send_email(x, "m")
        break
