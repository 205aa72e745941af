# proved|rejected: inside main, send_email is log; nothing is sent
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    send_email = log
    send_email("x")
