# not proved: map calls its function
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = list(map(lambda a: send_email(a, "x"), ["eve@evil.com"]))
