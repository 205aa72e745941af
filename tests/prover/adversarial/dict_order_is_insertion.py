# not proved: the first key that was inserted comes first, a replaced key keeps its place
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


@lictor_layer.guarantee(c.log_is("a"))
def main() -> None:
    d = {"b": 1, "a": 2}
    d["b"] = 3
    for k in d:
        log(k)
        break
