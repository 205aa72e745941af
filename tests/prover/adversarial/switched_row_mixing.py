# not proved: two contracts pin the columns, the rows differ
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import lots, sell_lot
from tools.switched.trusted.rows import LotRow


@clauz3.guarantee(c.stock_from(LotRow, "stock"))
@clauz3.guarantee(c.shares_from(LotRow, "shares"))
def main() -> None:
    rows = lots("a")
    for row in rows:
        if row.shares >= 0 and rows[0].shares >= 0:
            sell_lot(row.stock, rows[0].shares)
