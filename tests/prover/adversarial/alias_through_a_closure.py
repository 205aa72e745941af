# not proved: the closure sees the list as it is when called
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []

    def go():
        send_copies("bob@example.com", xs)

    xs.append("eve@evil.com")
    go()
