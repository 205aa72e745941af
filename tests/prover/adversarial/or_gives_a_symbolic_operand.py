# refuted: an empty name falls back to eve
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.never_to(["eve@evil.com"]))
def main() -> None:
    x = lookup("x")
    if x != "eve@evil.com":
        send_email(x or "eve@evil.com", "m")
