# refuted: a slice never raises
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["abcd"]))
def main() -> None:
    send_email("abc"[0:10], "m")
