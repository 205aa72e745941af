# not proved: a row may be bob's
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.unique())
def main() -> None:
    send_email("bob@example.com", "x")
    for row in users():
        if row.email == "carol@example.com":
            send_email(row.email, "x")
