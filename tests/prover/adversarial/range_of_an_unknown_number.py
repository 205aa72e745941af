# not proved: any number of times
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, number


@lictor_layer.guarantee(c.at_most(10))
def main() -> None:
    for i in range(number()):
        send_email("bob@example.com", "x")
