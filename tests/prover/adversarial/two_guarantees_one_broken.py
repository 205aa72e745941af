# refuted: both must hold
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    send_email("bob@example.com", "x")
    send_email("bob@example.com", "y")
