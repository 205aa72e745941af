# proved: it is a row of the table, whichever
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    best = None
    for user in users():
        if best is None or user.age > best.age:
            best = user
    if best is not None:
        send_email(best.email, "x")
