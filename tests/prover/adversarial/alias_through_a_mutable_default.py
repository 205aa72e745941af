# not proved: the default list is one object for all calls
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


def add(x, seen=[]):
    seen.append(x)
    return seen


@lictor_layer.guarantee(c.copies_are(["eve@evil.com"]))
def main() -> None:
    add("bob@example.com")
    send_copies("bob@example.com", add("eve@evil.com"))
