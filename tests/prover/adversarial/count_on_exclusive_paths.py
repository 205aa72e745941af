# proved: only one of both happens
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    if is_allowed("x"):
        send_email("bob@example.com", "x")
    else:
        send_email("carol@example.com", "y")
