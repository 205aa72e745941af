# not proved: whether a row is reached depends on those before
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    for row in users():
        send_email(row.email, "x")
        if row.active:
            break
