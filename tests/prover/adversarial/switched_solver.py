# rejected: nor with models of its own
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import mail


@clauz3.solver("tools.switched.trusted.effects.mail")
def quiet(addr, msg):
    return None


@clauz3.guarantee(c.none())
def main() -> None:
    mail("eve@evil.com", "x")
