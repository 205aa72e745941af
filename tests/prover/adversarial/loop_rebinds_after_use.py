# not proved: the second row uses what the first bound
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    to = "bob@example.com"
    for row in users():
        send_email(to, "x")
        to = row.email
