# not proved: nobody is active, so `else` runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for user in users():
        if user.active:
            break
    else:
        send_email("eve@evil.com", "nobody")
