# refuted: the right operand of `or` runs when the left is false
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    allowed = is_allowed("bob@example.com")
    done = allowed or send_email("eve@evil.com", "x")
