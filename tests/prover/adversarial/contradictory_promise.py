# not proved: a layer that promises the impossible proves nothing
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, impossible


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = impossible()
    send_email("eve@evil.com", "x")
