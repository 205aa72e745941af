# refuted: the layer demands one of our own
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_inside


@lictor_layer.guarantee(c.no_guarantees())
def main() -> None:
    send_inside("eve@evil.com", "x")
