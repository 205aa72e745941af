# not proved: some row raises
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import users


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    for row in users():
        if row.age > 200:
            raise ValueError("old")
