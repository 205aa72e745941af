# refuted: nested functions are called like others
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    def inner(a):
        def innermost():
            send_email(a, "x")

        innermost()

    inner("eve@evil.com")
