# not proved: no number
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.at_most(None))
def main() -> None:
    send_email("b", "x")
