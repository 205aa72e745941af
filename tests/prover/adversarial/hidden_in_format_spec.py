# not proved: a format specification may hold replacement fields
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log, lookup, number


@lictor_layer.guarantee(c.no_lookups())
def main() -> None:
    log(f"{1:{number()}}")
    log(lookup("x"))
