# not proved: the dot is no dot
import re
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    x = lookup("x")
    if re.fullmatch("bob@example.com", x):
        send_email(x, "m")
