# refuted: a query may give rows
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if users():
        send_email("eve@evil.com", "x")
