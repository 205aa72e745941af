# not proved: the helper passes the name on
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


def same(x):
    return x


@lictor_layer.guarantee(c.not_names())
def main() -> None:
    for row in users():
        send_email(same(row.name), "x")
