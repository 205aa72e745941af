# not proved: unbound when there was no row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    for row in users():
        to = row.email
    send_email(to, "x")
