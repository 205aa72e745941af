# refuted: the call says urgent
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.never_urgent())
def main() -> None:
    send_copies("bob@example.com", [], urgent=True)
