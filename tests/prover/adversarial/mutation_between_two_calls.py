# refuted: the second call sees the longer list
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    send_copies("bob@example.com", xs)
    xs.append("eve@evil.com")
    send_copies("bob@example.com", xs)
