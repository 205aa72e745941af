# not proved: an effect is no contract
import lictor_layer
from tools.desk.trusted.effects import send_email, log


@lictor_layer.guarantee(send_email("a", "b"))
def main() -> None:
    log("x")
