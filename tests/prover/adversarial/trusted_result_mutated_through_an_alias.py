# not proved: as above, through another name
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, names


@lictor_layer.guarantee(c.at_most(4))
def main() -> None:
    xs = names()
    ys = xs
    ys.append("eve@evil.com")
    for x in xs:
        send_email(x, "m")
