# not proved: nobody knows how many pages there are
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import page, send_email


@lictor_layer.guarantee(c.at_most(50))
def main() -> None:
    cursor = "a"
    while cursor:
        rows, cursor = page(cursor)
        send_email("bob@example.com", f"{len(rows)}")
