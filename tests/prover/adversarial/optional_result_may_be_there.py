# not proved: there may be somebody
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_user, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    user = find_user("a")
    if user is not None:
        send_email(user.email, "x")
