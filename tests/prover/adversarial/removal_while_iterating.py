# not proved: the loop skips an item
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.logs_at_most(1))
def main() -> None:
    xs = ["a", "b", "c"]
    for x in xs:
        log(x)
        xs.remove(x)
