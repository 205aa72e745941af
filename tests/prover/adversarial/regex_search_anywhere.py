# not proved: search looks everywhere
import re
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.message_starts("ok"))
def main() -> None:
    x = lookup("x")
    if re.search("ok", x):
        send_email("bob@example.com", x)
