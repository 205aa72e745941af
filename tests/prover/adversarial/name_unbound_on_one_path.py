# not proved: reading it raises on the other path
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    if is_allowed("x"):
        to = "bob@example.com"
    send_email(to, "x")
