# refuted: the row's own text is logged too late
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log, users


@lictor_layer.guarantee(c.logged_by_text())
def main() -> None:
    for row in users():
        send_email("bob@example.com", row.name)
        log(row.name)
