# refuted: one of both arms runs
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, is_allowed


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    x = send_email("bob@example.com", "x") if is_allowed("a") else send_email("eve@evil.com", "x")
