# proved: it starts so
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.message_starts("Dear "))
def main() -> None:
    send_email("bob@example.com", "Dear " + lookup("x"))
