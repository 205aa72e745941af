# refuted: the last item stays bound
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.only(["a"]))
def main() -> None:
    for x in ["a", "eve@evil.com"]:
        log(x)
    send_email(x, "m")
