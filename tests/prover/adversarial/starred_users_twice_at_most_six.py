# proved: six users in all
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.at_most(6))
def main() -> None:
    rows = users()
    for user in [*rows, *rows]:
        send_email(user.email, "x")
