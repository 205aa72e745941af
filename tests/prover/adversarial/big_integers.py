# refuted: integers do not wrap
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    if n > 18446744073709551616 and n + 1 > n:
        send_email("eve@evil.com", "x")
