# refuted: nobody may be found
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    found = next((user.email for user in users() if user.active), "eve@evil.com")
    send_email(found, "x")
