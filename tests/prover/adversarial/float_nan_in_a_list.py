# not proved: a list finds NaN by identity
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, rate


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = rate()
    if x in [x] and x != x:
        send_email("eve@evil.com", "x")
