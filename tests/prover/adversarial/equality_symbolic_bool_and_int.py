# refuted: a bool that is true equals 1
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    b = is_allowed("x")
    if b == 1:
        send_email("eve@evil.com", "x")
