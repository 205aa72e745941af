# refuted: the o is Cyrillic; the address is another
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    send_email("bоb@example.com", "x")
