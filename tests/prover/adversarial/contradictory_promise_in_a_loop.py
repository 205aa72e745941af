# not proved: with one row the effect happens
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, impossible, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for row in users():
        send_email(row.email, "x")
        x = impossible()
