# not proved: a loop over functions calls them
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for f in [log, lambda t: send_email(t, "x")]:
        f("eve@evil.com")
