# refuted: arguments are evaluated from left to right, then the call
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.no_send_after_lookup())
def main() -> None:
    send_email(lookup("a"), "x")
