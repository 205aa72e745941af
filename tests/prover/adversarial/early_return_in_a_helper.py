# refuted: it ends the helper, not main
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log, is_allowed


def helper():
    if is_allowed("x"):
        return
    log("x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    helper()
    send_email("eve@evil.com", "x")
