# not proved: None has no columns
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_user, send_email


@lictor_layer.guarantee(c.exactly(1))
def main() -> None:
    user = find_user("a")
    send_email(user.email, "x")
