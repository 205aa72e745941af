# refuted: the helper sends twice a row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


def tell(to):
    send_email(to, "x")
    send_email(to, "y")


@lictor_layer.guarantee(c.at_most(5))
def main() -> None:
    for row in users():
        tell(row.email)
