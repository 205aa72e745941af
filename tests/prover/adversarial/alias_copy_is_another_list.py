# proved: a copy does not follow
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    ys = xs.copy()
    ys.append("eve@evil.com")
    send_copies("bob@example.com", xs)
