# not proved: it raises
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.logs_at_most(1))
def main() -> None:
    d = {"a": 1}
    for k in d:
        log(k)
        d[k + "x"] = 1
