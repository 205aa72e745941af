# refuted: audit gets another text
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.copied_to_audit())
def main() -> None:
    send_email("bob@example.com", "x")
    send_email("audit@example.com", "y")
