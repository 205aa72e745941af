# not proved: the inner function changes the outer name
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    to = "bob@example.com"

    def change():
        nonlocal to
        to = "eve@evil.com"

    change()
    send_email(to, "x")
