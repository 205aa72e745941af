# refuted: the helper calls what it was handed
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def twice(f):
    f()
    f()


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    twice(lambda: send_email("bob@example.com", "x"))
