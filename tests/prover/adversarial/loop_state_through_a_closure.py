# not proved: the closure's list grows
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    seen = []

    def note(x):
        seen.append(x)

    for row in users():
        note(row.email)
        if len(seen) > 1:
            send_email(row.email, "x")
