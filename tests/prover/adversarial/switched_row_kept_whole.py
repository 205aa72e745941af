# proved: both from the same row
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import lots, sell_lot
from tools.switched.trusted.rows import LotRow


@clauz3.guarantee(c.stock_from(LotRow, "stock"))
@clauz3.guarantee(c.shares_from(LotRow, "shares"))
def main() -> None:
    for row in lots("a"):
        if row.shares >= 0:
            sell_lot(row.stock, row.shares)
