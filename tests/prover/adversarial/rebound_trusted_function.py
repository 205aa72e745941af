# refuted: log is send_email now
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log = send_email
    log("eve@evil.com", "x")
