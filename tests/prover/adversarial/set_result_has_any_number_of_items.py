# not proved: there may be more than one tag
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, tags


@lictor_layer.guarantee(c.logs_at_most(1))
def main() -> None:
    for tag in tags():
        log(tag)
