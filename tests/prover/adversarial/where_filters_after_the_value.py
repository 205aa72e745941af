# refuted: the unknown address may be bob's
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup


@lictor_layer.guarantee(c.to_bob_at_most(0))
def main() -> None:
    send_email(lookup("x"), "m")
