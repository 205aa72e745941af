# refuted: without the log on the other path
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log, is_allowed


@lictor_layer.guarantee(c.logged_first())
def main() -> None:
    if is_allowed("x"):
        log("x")
    send_email("bob@example.com", "x")
