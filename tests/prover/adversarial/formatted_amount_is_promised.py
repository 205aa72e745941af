# not proved: what the text is, nobody models
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number, send_email


@lictor_layer.guarantee(c.message_is("1.00"))
def main() -> None:
    send_email("bob@example.com", f"{number() / 100:.2f}")
