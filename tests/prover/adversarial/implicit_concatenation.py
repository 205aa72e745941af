# refuted: neighbouring literals are one
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com", "eve@evil.com"]))
def main() -> None:
    send_email("bob@example.comeve@evil.com", "x")
