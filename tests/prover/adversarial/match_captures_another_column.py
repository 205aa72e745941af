# refuted: that is the name
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users

import lictor_layer


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    match users():
        case [*_, last]:
            send_email(last.name, "x")
