# not proved: any shares
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sold_at_most(100))
def main() -> None:
    for row in orders("a"):
        sell(row.stock, row.shares)
