# not proved: two calls may answer differently
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import lookup, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if lookup("a").lower() == "ann" and lookup("a").lower() != "ann":
        send_email("eve@evil.com", "x")
