# not proved: as with a lambda
import lictor_layer
from tools.desk.trusted.effects import send_email
from tools.desk.trusted.contracts import only


@lictor_layer.guarantee(only(["bob@example.com"]))
def main() -> None:
    def only(addresses):
        return True

    send_email("eve@evil.com", "x")
