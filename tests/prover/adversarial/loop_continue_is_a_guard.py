# refuted: only rows that are not active send, and such may be
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for row in users():
        if row.active:
            continue
        send_email(row.email, "x")
