# refuted: both parts must hold
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, pay


@lictor_layer.guarantee(c.quiet_and_bounded(1))
def main() -> None:
    send_email("bob@example.com", "x")
    pay("a", 1)
