# not proved: the list of a call is changed, so its bound is gone
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, names


@lictor_layer.guarantee(c.at_most(4))
def main() -> None:
    xs = names()
    xs.append("eve@evil.com")
    for x in xs:
        send_email(x, "m")
