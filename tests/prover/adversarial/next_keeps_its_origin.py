# proved: it is a row of the table
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    found = next((user for user in users() if user.active), None)
    if found is not None:
        send_email(found.email, "x")
