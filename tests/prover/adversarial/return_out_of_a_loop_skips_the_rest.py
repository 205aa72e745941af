# not proved: where nobody is active, the last line runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for user in users():
        if user.active:
            return
    send_email("eve@evil.com", "nobody")
