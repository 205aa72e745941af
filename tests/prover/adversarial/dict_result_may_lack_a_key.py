# proved: nothing is sent when the key is missing
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import ages, send_email


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    send_email("bob@example.com", f"{ages()['a']}")
