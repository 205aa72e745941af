# rejected: imports are read in the whole file
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import log


def unused():
    import subprocess


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    log("x")
