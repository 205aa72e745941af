# not proved: without users, best is None
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.no_pay())
def main() -> None:
    best = None
    for user in users():
        if best is None or user.age > best.age:
            best = user
    send_email(best.email, "x")
