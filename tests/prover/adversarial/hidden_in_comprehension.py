# refuted: the element of a comprehension is evaluated for each item
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    done = [send_email(a, "x") for a in ["bob@example.com", "eve@evil.com"]]
