# not proved: the loop sees what it appends
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.at_most(3))
def main() -> None:
    xs = [user.email for user in users()]
    for at, email in enumerate(xs):
        if at < 5:
            xs.append(email)
        send_email(email, "x")
