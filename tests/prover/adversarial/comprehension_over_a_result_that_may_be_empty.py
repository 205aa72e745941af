# refuted: the query may give nothing
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ys = [row.email for row in users()]
    if len(ys) == 0:
        send_email("eve@evil.com", "x")
