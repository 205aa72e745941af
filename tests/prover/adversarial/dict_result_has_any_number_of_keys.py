# not proved: there may be more than three
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import ages, send_email


@lictor_layer.guarantee(c.at_most(3))
def main() -> None:
    for email in ages():
        send_email(email, "x")
