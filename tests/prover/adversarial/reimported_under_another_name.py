# refuted: the alias is the same function
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email as harmless


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    harmless("eve@evil.com", "x")
