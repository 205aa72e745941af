# refuted: what bob() promises says nothing about lookup
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup, bob


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    x = bob()
    send_email(lookup("x"), "x")
