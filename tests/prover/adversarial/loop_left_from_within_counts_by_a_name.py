# not proved: names decide in which round the outer loop is left
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import names, send_email, users


def rounds() -> int:
    n = 0
    for user in users():
        for name in names():
            if user.name == name:
                return n
        n += 1
    return n


@lictor_layer.guarantee(c.not_names())
def main() -> None:
    send_email(f"{rounds()}@example.com", "so many")
