# refuted: two lookups may give one address
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.unique())
def main() -> None:
    send_email(lookup("a"), "x")
    send_email(lookup("b"), "x")
