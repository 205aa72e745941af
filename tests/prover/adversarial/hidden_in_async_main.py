# rejected: a coroutine is not a run
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
async def main() -> None:
    send_email("eve@evil.com", "x")
