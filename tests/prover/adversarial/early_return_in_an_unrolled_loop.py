# refuted: the second item is reached when the first does not return
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.only(["a"]))
def main() -> None:
    for x in ["a", "b"]:
        send_email(x, "m")
        if is_allowed(x):
            return
