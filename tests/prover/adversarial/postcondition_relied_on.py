# proved: bob() gives bob's address
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, bob


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    send_email(bob(), "x")
