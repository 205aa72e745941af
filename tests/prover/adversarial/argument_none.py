# not proved: the layer says str
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.never_to(["eve@evil.com"]))
def main() -> None:
    send_email(None, "x")
