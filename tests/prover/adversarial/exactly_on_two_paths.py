# refuted: one or two
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.exactly(1))
def main() -> None:
    send_email("bob@example.com", "x")
    if is_allowed("x"):
        send_email("bob@example.com", "y")
