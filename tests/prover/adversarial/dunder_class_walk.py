# rejected: the way to every class
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = ().__class__.__base__.__subclasses__()
