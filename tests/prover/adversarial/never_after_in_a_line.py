# refuted: sent after the lookup
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.no_send_after_lookup())
def main() -> None:
    to = lookup("x")
    send_email(to, "x")
