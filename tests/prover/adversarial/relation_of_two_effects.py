# refuted: sending inside is writing too
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_inside


@lictor_layer.guarantee(c.nothing_written())
def main() -> None:
    send_inside("bob@example.com", "x")
