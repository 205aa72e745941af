# not proved: range is what was passed
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


def helper(range):
    for i in range(1):
        log("x")


@lictor_layer.guarantee(c.logs_at_most(0))
def main() -> None:
    helper(lambda n: [1, 2, 3])
