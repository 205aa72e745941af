# not proved: the same index of two queries is not the same row
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import lots, sell_lot
from tools.switched.trusted.rows import LotRow


@clauz3.guarantee(c.stock_from(LotRow, "stock"))
@clauz3.guarantee(c.shares_from(LotRow, "shares"))
def main() -> None:
    a = lots("a")
    b = lots("b")
    if len(a) > 0 and len(b) > 0:
        if b[0].shares >= 0:
            sell_lot(a[0].stock, b[0].shares)
