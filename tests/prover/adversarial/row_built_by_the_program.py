# not proved: a row that the program made is not from the table
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email
from tools.desk.trusted.schemas import UserRow


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    row = UserRow(email="eve@evil.com", name="x", age=1, active=True)
    send_email(row.email, "x")
