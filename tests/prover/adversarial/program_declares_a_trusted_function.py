# rejected: trusted functions belong to layers
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.trusted
def send_email_quietly(addr: str) -> None:
    send_email(addr, "x")


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    send_email_quietly("eve@evil.com")
