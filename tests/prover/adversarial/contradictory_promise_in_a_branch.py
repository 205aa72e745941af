# not proved: the branch exists, whatever the layer promises inside it
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed, impossible


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if is_allowed("x"):
        send_email("eve@evil.com", "x")
        x = impossible()
