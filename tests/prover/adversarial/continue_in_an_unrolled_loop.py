# proved: b is skipped
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["a", "c"]))
def main() -> None:
    for x in ["a", "b", "c"]:
        if x == "b":
            continue
        send_email(x, "m")
