# refuted: some row breaks it
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import refund, users


@lictor_layer.guarantee(c.no_guarantees())
def main() -> None:
    for row in users():
        refund(row.age)
