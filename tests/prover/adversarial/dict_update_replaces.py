# not proved: the later value counts
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    d = {"to": "bob@example.com"}
    d.update({"to": "eve@evil.com"})
    send_email(d["to"], "x")
