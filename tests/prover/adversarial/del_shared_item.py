# not proved: two names, one list
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies

import lictor_layer


@lictor_layer.guarantee(c.copies_are(["eve@evil.com"]))
def main() -> None:
    xs = ["bob@example.com", "eve@evil.com"]
    ys = xs
    del ys[1]
    send_copies("bob@example.com", xs)
