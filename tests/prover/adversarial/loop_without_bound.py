# refuted: any number of rows
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, everybody


@lictor_layer.guarantee(c.at_most(1000))
def main() -> None:
    for row in everybody():
        send_email(row.email, "x")
