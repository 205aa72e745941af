# not proved: the old value is read before the call changes the list
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = [1]

    def grow():
        xs.append(5)
        return 1

    n = len(xs) + grow()
    if n == 2 and len(xs) == 2:
        send_email("eve@evil.com", "x")
