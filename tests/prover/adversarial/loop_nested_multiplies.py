# refuted: three times three
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.at_most(8))
def main() -> None:
    for row in users():
        for other in users():
            send_email(other.email, "x")
