# not proved: the iterator over the list is made before the list grows, and reads what was added
import lictor_layer
from tools.desk.trusted import contracts as c
from tools.desk.trusted.effects import send_email, users


@lictor_layer.guarantee(c.to_users())
def main() -> None:
    addresses = [user.email for user in users()]
    for pair, _ in zip(enumerate(addresses), [addresses.append("eve@evil.com"), 1, 2]):
        send_email(pair[1], "hello")
