# refuted: two loops add up
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.at_most(5))
def main() -> None:
    rows = users()
    for row in rows:
        send_email(row.email, "x")
    for row in rows:
        send_email(row.email, "y")
