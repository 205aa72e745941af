# refuted: the first row sends before anything was logged
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log, users


@lictor_layer.guarantee(c.logged_first())
def main() -> None:
    for row in users():
        send_email(row.email, "x")
        log(row.email)
