# refuted: 7 // -2 is -4, and the rest is -1
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    if n == -2 and 7 // n == -4 and 7 % n == -1:
        send_email("eve@evil.com", "x")
