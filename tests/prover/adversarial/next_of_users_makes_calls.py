# not proved: each user may be asked
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    def told(user):
        send_email(user.email, "x")
        return user.active

    next((user for user in users() if told(user)), None)
