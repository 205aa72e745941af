# not proved: the name flows into the address
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import find_user, send_email


@lictor_layer.guarantee(c.not_names())
def main() -> None:
    user = find_user("a")
    send_email(user.name if user else "x", "x")
