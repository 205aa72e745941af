# proved|rejected: the guard keeps the index inside
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    rows = users()
    if len(rows) > 0:
        send_email(rows[0].email, "x")
