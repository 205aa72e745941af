# not proved: a precondition of main is no fact
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.requires(lambda addr: addr == "bob@example.com")
@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main(addr: str) -> None:
    send_email(addr, "x")
