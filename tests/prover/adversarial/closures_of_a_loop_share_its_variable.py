# not proved: every closure of the loop reads the last item
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    fs = []
    for to in ["bob@example.com", "eve@evil.com"]:
        fs.append(lambda: send_email(to, "x"))
    fs[0]()
