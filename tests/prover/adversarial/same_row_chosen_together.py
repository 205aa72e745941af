# proved|rejected|unknown: whichever row it is, it is one
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sells_an_order())
def main() -> None:
    for row in orders("a"):
        for other in orders("a"):
            if row.approved:
                sell(row.stock, row.shares)
            else:
                sell(other.stock, other.shares)
