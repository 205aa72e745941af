# proved: where the key is missing the run ends early, and promises nothing on completion
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.exactly(1))
def main() -> None:
    d = {}
    for user in users():
        d[user.email] = user.age
    del d["bob@example.com"]
    send_email("bob@example.com", "x")
