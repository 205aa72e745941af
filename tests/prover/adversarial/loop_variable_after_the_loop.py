# not proved: the last row, if there was one
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    for row in users():
        log(row.name)
    send_email(row.email, "x")
