# refuted: only all flags together send to eve
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.never_to(["eve@evil.com"]))
def main() -> None:
    n = 0
    if is_allowed("a"):
        n += 1
    if is_allowed("b"):
        n += 1
    if is_allowed("c"):
        n += 1
    if is_allowed("d"):
        n += 1
    if n == 4:
        send_email("eve@evil.com", "x")
