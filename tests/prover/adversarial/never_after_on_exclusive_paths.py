# proved: only one of both happens
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed, lookup


@lictor_layer.guarantee(c.no_send_after_lookup())
def main() -> None:
    if is_allowed("x"):
        to = lookup("x")
    else:
        send_email("bob@example.com", "x")
