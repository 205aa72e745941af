# not proved: a generator that is consumed does what it holds
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    total = sum(1 if send_email(a, "x") is None else 0 for a in ["eve@evil.com"])
