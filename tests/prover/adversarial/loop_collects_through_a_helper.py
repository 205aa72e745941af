# not proved: as above, in a helper
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies, users


def add(xs, x):
    xs.append(x)


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    for row in users():
        add(xs, row.email)
    send_copies("bob@example.com", xs)
