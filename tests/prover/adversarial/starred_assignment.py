# not proved: the rest holds eve
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    first, *rest = ["bob@example.com", "eve@evil.com"]
    for x in rest:
        send_email(x, "m")
