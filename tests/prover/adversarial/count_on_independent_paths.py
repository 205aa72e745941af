# refuted: both may happen
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    if is_allowed("x"):
        send_email("bob@example.com", "x")
    if is_allowed("y"):
        send_email("carol@example.com", "y")
