# not proved: the loop sees what it appends
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    xs = ["a"]
    for x in xs:
        send_email(x, "m")
        if len(xs) < 3:
            xs.append("b")
