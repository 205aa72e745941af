# refuted: the same address for every row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.unique())
def main() -> None:
    for row in users():
        send_email("bob@example.com", row.name)
