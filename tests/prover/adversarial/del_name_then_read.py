# not proved: the name has no value
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email

import lictor_layer


@lictor_layer.guarantee(c.exactly(1))
def main(p: bool) -> None:
    x = "bob@example.com"
    if p:
        del x
    send_email(x, "x")
