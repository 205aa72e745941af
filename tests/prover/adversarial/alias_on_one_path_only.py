# not proved: on one path the names share a list
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies, is_allowed


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    ys = []
    if is_allowed("x"):
        ys = xs
    ys.append("eve@evil.com")
    send_copies("bob@example.com", xs)
