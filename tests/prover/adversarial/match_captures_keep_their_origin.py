# proved: what is captured is a row of the table
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    match users():
        case [first, *others] if first.age > 3:
            send_email(first.email, "x")
            for each in others:
                send_email(each.email, "y")
