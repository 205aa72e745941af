# not proved: the dict changes from row to row
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    d = {"n": 0}
    for row in users():
        d["n"] = d["n"] + 1
        if d["n"] > 1:
            send_email(row.email, "x")
