# not proved: a view is no iterator
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.exactly(1))
def main() -> None:
    d = {}
    for user in users():
        d[user.email] = user.age
    next(d.values(), None)
    send_email("bob@example.com", "x")
