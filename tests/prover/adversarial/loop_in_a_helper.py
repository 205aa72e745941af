# refuted: the helper's loop counts
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


def tell_all():
    for row in users():
        send_email(row.email, "x")


@lictor_layer.guarantee(c.at_most(3))
def main() -> None:
    tell_all()
    tell_all()
