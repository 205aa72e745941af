# rejected: where any() stops is not known
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import is_allowed, send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    found = any(is_allowed(user.email) for user in users())
