# refuted: strings are not normalised; é is not e with an accent
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["ren\u00e9@example.com"]))
def main() -> None:
    send_email("rene\u0301@example.com", "x")
