# proved: nothing is promised about the text
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import number, send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    send_email("bob@example.com", f"{number() / 100:,.2f} EUR".rjust(20))
