# proved: in a loop that a known flag and an unknown answer leave, nothing is sent
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    found = ["b"]
    seen = set()
    is_open = True
    try:
        for each in sorted(found, key=len):
            log(each)
            if is_open and "" not in seen:
                break
    finally:
        log("done")
