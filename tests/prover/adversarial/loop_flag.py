# not proved: the flag is set by an earlier row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    seen = False
    for row in users():
        if seen:
            send_email(row.email, "x")
        seen = True
