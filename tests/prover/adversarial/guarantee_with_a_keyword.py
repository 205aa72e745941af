# rejected: exactly one positional argument
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(contract=c.none_sent())
def main() -> None:
    send_email("eve@evil.com", "x")
