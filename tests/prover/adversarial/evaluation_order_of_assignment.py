# proved|rejected: the value comes before the target: one item is left, and it is replaced
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.logs_at_most(1))
def main() -> None:
    xs = ["a", "b"]
    xs[len(xs) - 1] = xs.pop()
    for x in xs:
        log(x)
