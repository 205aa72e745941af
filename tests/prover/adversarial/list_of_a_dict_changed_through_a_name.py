# not proved: the name is one of the lists
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    groups = {}
    for user in users():
        groups.setdefault(user.name, [])
    for name, held in groups.items():
        held.append(name)
    for name, held in groups.items():
        for each in held:
            send_email(each, "x")
