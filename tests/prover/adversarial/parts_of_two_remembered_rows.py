# not proved: the stock of one order with the shares of another
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sells_an_order())
def main() -> None:
    stock = ""
    shares = 0
    for order in orders("a"):
        if order.approved:
            stock = order.stock
        else:
            shares = order.shares
    sell(stock, shares)
