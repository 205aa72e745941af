# not proved: a Row class of its own with the same name
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email


class UserRow(lictor_layer.Row):
    email: str
    name: str
    age: int
    active: bool


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    row = UserRow(email="eve@evil.com", name="x", age=1, active=True)
    send_email(row.email, "x")
