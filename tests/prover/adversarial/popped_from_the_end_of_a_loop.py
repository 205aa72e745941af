# not proved: what was appended last is popped first
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import names, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    found = []
    for name in names():
        found.append(name)
    if len(found) == 2:
        last = found.pop()
        first = found.pop()
        if first == "a" and last == "b":
            send_email("eve@evil.com", "both")
