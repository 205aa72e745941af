# refuted: an empty string is false
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if not lookup("x"):
        send_email("eve@evil.com", "x")
