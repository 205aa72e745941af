# not proved: on the other path the list holds only what was kept, which may be nothing
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import is_allowed, names, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    every = names()
    kept = [name for name in every if name != "bob"]
    is_over = is_allowed("x")
    if is_over:
        kept.clear()
    if not is_over and len(every) == 2 and not kept:
        send_email("eve@evil.com", "nobody is left")
