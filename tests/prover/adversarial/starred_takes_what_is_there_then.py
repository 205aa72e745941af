# refuted: the items were taken before
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies

import lictor_layer


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = ["eve@evil.com"]
    send_copies("bob@example.com", [*xs, *(xs.clear() or [])])
