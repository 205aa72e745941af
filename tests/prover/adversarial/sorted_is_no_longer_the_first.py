# not proved: the first of the sorted ones is another one
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import orders, sell


@lictor_layer.guarantee(c.sold_at_most(10))
def main() -> None:
    found = orders("a")
    if found and found[0].shares <= 10:
        ordered = sorted(found, key=lambda order: order.stock)
        sell(ordered[0].stock, ordered[0].shares)
