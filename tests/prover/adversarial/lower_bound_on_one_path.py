# refuted: on the other path nothing is sent
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.at_least(1))
def main() -> None:
    if is_allowed("x"):
        send_email("bob@example.com", "x")
