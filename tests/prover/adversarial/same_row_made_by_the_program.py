# not proved: no returned row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import sell
from tools.desk.trusted.schemas import OrderRow


@lictor_layer.guarantee(c.sells_an_order())
def main() -> None:
    row = OrderRow(stock="a", shares=1, approved=True)
    sell(row.stock, row.shares)
