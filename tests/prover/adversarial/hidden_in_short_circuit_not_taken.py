# proved: the right operand of `and` does not run when the left is false
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    flag = False
    done = flag and send_email("eve@evil.com", "x") is None
