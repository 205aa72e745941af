# rejected: contracts belong to layers
import lictor_layer
from tools.desk.trusted.effects import send_email
from lictor_layer import contract, effect


@contract
def mine():
    return effect("send_email").all(lambda e: True)


@lictor_layer.guarantee(mine())
def main() -> None:
    send_email("eve@evil.com", "x")
