# proved: both from the same row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sells_an_order())
def main() -> None:
    for row in orders("a"):
        sell(row.stock, row.shares)
