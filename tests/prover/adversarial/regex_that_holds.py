# proved|rejected: the whole string is checked, dots escaped
import re
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    x = lookup("x")
    if re.fullmatch(r"bob@example\.com", x):
        send_email(x, "m")
