# rejected: a program has no business with the relations
import clauz3
from clauz3.spec import effect
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import mail


@clauz3.guarantee(effect("mail").all(lambda e: True))
def main() -> None:
    mail("eve@evil.com", "x")
