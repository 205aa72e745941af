# not proved: it is bound already, and eve's
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    d = {"to": "eve@evil.com"}
    d.setdefault("to", "bob@example.com")
    send_email(d["to"], "x")
