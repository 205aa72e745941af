# rejected: the loop would not end
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import names, send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    found = [name for name in names()]
    for name in found:
        found.append(name)
