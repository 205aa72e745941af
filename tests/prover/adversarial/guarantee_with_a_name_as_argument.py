# not proved: a name is no literal, and what it holds changes
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


ALLOWED = ["bob@example.com"]


@lictor_layer.guarantee(c.only(ALLOWED))
def main() -> None:
    ALLOWED.append("eve@evil.com")
    send_email("eve@evil.com", "x")
