# not proved: the first rows of two queries
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sells_an_order())
def main() -> None:
    a = orders("a")
    b = orders("a")
    if len(a) > 0 and len(b) > 0:
        sell(a[0].stock, b[0].shares)
