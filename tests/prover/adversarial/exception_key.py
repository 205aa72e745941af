# not proved: the key may be missing
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    d = {"bob": "bob@example.com"}
    send_email(d[lookup("x")], "x")
