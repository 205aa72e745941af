# not proved: both can't be kept, but which one lies is open
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, bob


@lictor_layer.guarantee(c.only(["alice@example.com"]))
def main() -> None:
    send_email(bob(), "x")
