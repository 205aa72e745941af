# refuted: on one path
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import refund, number


@lictor_layer.guarantee(c.no_guarantees())
def main() -> None:
    n = number()
    if n > -10:
        refund(n)
