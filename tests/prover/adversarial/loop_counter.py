# not proved: the counter grows from row to row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = 0
    for row in users():
        n = n + 1
        if n > 2:
            send_email(row.email, "x")
