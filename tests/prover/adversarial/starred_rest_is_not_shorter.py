# refuted: two may be left
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    _, *rest = users()
    for user in rest:
        send_email(user.email, "x")
