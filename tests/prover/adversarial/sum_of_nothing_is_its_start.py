# not proved: the sum of an empty list is True itself, not 1
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if str(sum([user.age for user in users()], True)) == "True":
        send_email("eve@evil.com", "nothing")
