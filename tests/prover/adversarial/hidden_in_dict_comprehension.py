# not proved: as in a list
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    done = {a: send_email(a, "x") for a in ["eve@evil.com"]}
