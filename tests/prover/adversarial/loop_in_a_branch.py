# refuted: on that path there are three
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed, users


@lictor_layer.guarantee(c.at_most(2))
def main() -> None:
    if is_allowed("x"):
        for row in users():
            send_email(row.email, "x")
