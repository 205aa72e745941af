# refuted: on one path the list is longer
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies, is_allowed


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    if is_allowed("x"):
        xs.append("eve@evil.com")
    send_copies("bob@example.com", xs)
