# not proved: the rows of two loops
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import lots, sell_lot
from tools.switched.trusted.rows import LotRow


@clauz3.guarantee(c.stock_from(LotRow, "stock"))
@clauz3.guarantee(c.shares_from(LotRow, "shares"))
def main() -> None:
    for row in lots("a"):
        for other in lots("a"):
            if other.shares >= 0:
                sell_lot(row.stock, other.shares)
