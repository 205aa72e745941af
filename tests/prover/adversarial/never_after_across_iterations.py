# refuted: the second row sends after the first one's lookup
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup, users


@lictor_layer.guarantee(c.no_send_after_lookup())
def main() -> None:
    for row in users():
        send_email(row.email, "x")
        to = lookup(row.name)
