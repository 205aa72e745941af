# refuted: another text was logged
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.logged_by_text())
def main() -> None:
    log("x")
    send_email("bob@example.com", "y")
