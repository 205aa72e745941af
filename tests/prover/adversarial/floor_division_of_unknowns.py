# refuted: for n = -7 it is -4
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    if n == -7 and n // 2 == -4 and n % -2 == -1:
        send_email("eve@evil.com", "x")
