# not proved: both names hold one list
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    a = b = []
    b.append("eve@evil.com")
    send_copies("bob@example.com", a)
