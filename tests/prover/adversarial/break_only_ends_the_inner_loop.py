# refuted: the outer loop goes on
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    for x in [1, 2]:
        for y in [1, 2]:
            send_email("bob@example.com", "m")
            break
