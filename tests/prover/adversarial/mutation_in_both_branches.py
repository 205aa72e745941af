# refuted: one of both
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_copies, is_allowed


@lictor_layer.guarantee(c.copies_are(["a"]))
def main() -> None:
    xs = []
    if is_allowed("x"):
        xs.append("a")
    else:
        xs.append("b")
    send_copies("bob@example.com", xs)
