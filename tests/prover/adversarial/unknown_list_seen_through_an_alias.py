# not proved: the other name sees what the loop appends
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies, users


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    copies = []
    other = copies
    for user in users():
        copies.append(user.email)
    send_copies("bob@example.com", other)
