# refuted: a raw string keeps its backslash
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["b\u006fb@example.com"]))
def main() -> None:
    send_email(r"b\u006fb@example.com", "x")
