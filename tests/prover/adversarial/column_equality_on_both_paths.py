# proved: two rows' addresses, each from the table
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users, everybody


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    for row in users():
        for other in everybody():
            send_email(row.email if row.active else other.email, "x")
