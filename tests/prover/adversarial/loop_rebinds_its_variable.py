# not proved: the variable is not the row any more
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    for row in users():
        row = users()[0]
        send_email(row.email, "x")
