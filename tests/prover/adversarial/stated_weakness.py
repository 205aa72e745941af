# proved: nothing is promised, and that is said
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.no_guarantees())
def main() -> None:
    send_email("eve@evil.com", "x")
