# not proved: the list grows from row to row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies, users


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    xs = []
    for row in users():
        xs.append(row.email)
    send_copies("bob@example.com", xs)
