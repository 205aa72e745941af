# refuted: a function that a function returns can be called
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def make(a):
    def inner():
        send_email(a, "x")

    return inner


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    f = make("eve@evil.com")
    f()
