# not proved: a list is no key
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    d = {[1]: 2}
