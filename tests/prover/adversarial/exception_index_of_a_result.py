# not proved: a query may give no rows
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    rows = users()
    send_email(rows[0].email, "x")
