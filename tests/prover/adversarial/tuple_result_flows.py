# not proved: the name flows into the address
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import page, send_email


@lictor_layer.guarantee(c.not_names())
def main() -> None:
    rows, _ = page("")
    if rows:
        send_email(rows[0].name, "x")
