# not proved: a parameter's default is not its value
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main(addr: str = "bob@example.com") -> None:
    send_email(addr, "x")
