# not proved: the rest is a list of its own
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies

import lictor_layer


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = ["eve@evil.com"]
    match xs:
        case [*rest]:
            rest.clear()
    send_copies("bob@example.com", xs)
