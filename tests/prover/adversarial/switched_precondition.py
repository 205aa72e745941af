# refuted: the amount of a row may be negative
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import lots, sell_lot
from tools.switched.trusted.rows import LotRow


@clauz3.guarantee(c.stock_from(LotRow, "stock"))
def main() -> None:
    for row in lots("a"):
        sell_lot(row.stock, row.shares)
