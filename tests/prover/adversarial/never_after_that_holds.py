# proved: all messages come before all lookups
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup, users


@lictor_layer.guarantee(c.no_send_after_lookup())
def main() -> None:
    rows = users()
    for row in rows:
        send_email(row.email, "x")
    for row in rows:
        to = lookup(row.name)
