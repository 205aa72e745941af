# not proved: there may be nobody
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.exactly(1))
def main() -> None:
    found = next(user for user in users() if user.active)
    send_email(found.email, "x")
