# not proved: equal to an address, but not from the table
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    for row in users():
        if row.email == "eve@evil.com":
            send_email("eve@evil.com", "x")
