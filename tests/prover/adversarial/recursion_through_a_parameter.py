# not proved: a function is handed itself
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


def run(f):
    send_email("bob@example.com", "x")
    f(f)


@lictor_layer.guarantee(c.at_most(1))
def main() -> None:
    run(run)
