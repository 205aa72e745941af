# not proved: the effect comes first
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, impossible


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    send_email("eve@evil.com", "x")
    x = impossible()
