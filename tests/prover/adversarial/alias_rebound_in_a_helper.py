# proved: rebinding the parameter leaves the caller's list alone
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


def add(ys):
    ys = ys + ["eve@evil.com"]


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    add(xs)
    send_copies("bob@example.com", xs)
