# proved: each pair is of one row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sells_an_order())
def main() -> None:
    pairs = []
    for order in orders("a"):
        pairs.append((order.stock, order.shares))
    for stock, shares in pairs:
        sell(stock, shares)
