# not proved: the list holds the name
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.not_names())
def main() -> None:
    for row in users():
        xs = [row.email, row.name]
        send_email(xs[1], "x")
