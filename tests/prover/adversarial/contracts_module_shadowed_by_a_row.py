# not proved: a local named like the contracts' alias
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email
from tools.desk.trusted.schemas import UserRow


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    c = UserRow(email="a", name="b", age=1, active=True)
    send_email("eve@evil.com", "x")
