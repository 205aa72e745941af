# not proved: an augmented assignment evaluates its target once
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def which():
    send_email("bob@example.com", "x")
    return 0


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    xs = [1]
    xs[which()] += 2
