# proved: the same text
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.copied_to_audit())
def main() -> None:
    text = lookup("x")
    send_email("bob@example.com", text)
    send_email("audit@example.com", text)
