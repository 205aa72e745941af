# refuted: the last assignment counts
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.message_is("a"))
def main() -> None:
    m = "a"
    m = m + "b"
    send_email("bob@example.com", m)
