# refuted: the name outside keeps its value
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    x = "eve@evil.com"
    ys = [x for x in ["bob@example.com"]]
    send_email(x, "m")
