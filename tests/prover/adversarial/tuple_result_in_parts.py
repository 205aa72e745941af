# not proved: any users may be on the page
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import page, send_email


@lictor_layer.guarantee(c.only(['bob@example.com']))
def main() -> None:
    rows, cursor = page("")
    for user in rows:
        send_email(user.email, cursor)
