# not proved: log is local to main, and unbound at the call
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.logs_at_most(1))
def main() -> None:
    log("x")
    log = send_email
