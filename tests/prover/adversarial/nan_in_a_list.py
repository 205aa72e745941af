# not proved: a list with NaN equals itself
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import rate, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    value = rate()
    if [value] == [value]:
        send_email("eve@evil.com", "x")
