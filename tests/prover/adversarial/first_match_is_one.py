# proved: the loop is left with the first that is sent
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    for user in users():
        if user.active:
            send_email(user.email, "hi")
            break
