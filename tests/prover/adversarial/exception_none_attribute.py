# not proved: None has no upper
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import nothing


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    x = nothing().upper()
