# not proved: which address is taken depends on the names
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.not_names())
def main() -> None:
    addr = "bob@example.com"
    for user in users():
        if user.name > "m":
            addr = "ann@example.com"
    send_email(addr, "x")
