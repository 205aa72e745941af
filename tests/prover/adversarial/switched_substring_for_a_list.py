# not proved: "b" stands in the string, but the contract takes a list
import clauz3
from tools.switched.trusted import contracts as c
from tools.switched.trusted.effects import mail


@clauz3.guarantee(c.only("bob@example.com"))
def main() -> None:
    mail("b", "x")
