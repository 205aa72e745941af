# not proved: a closure reads the variable, not the value it had
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    to = "bob@example.com"
    go = lambda: send_email(to, "x")
    to = "eve@evil.com"
    go()
