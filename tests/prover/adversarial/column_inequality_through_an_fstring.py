# not proved: the name flows into the text
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.not_names())
def main() -> None:
    for row in users():
        send_email(f"{row.name}@example.com", "x")
