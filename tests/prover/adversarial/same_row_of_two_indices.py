# not proved: the first row and the second
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sells_an_order())
def main() -> None:
    rows = orders("a")
    if len(rows) > 1:
        sell(rows[0].stock, rows[1].shares)
