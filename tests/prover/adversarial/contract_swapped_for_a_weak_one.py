# not proved: rebinding inside main must not change what was promised
import lictor_layer
from tools.desk.trusted.effects import send_email
from tools.desk.trusted.contracts import no_guarantees, none_sent


@lictor_layer.guarantee(none_sent())
def main() -> None:
    none_sent = no_guarantees
    send_email("eve@evil.com", "x")
