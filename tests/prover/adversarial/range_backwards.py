# refuted: 3, 2, 1
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["a"]))
def main() -> None:
    for i in range(3, 0, -1):
        if i == 1:
            send_email("eve@evil.com", "x")
