"""Sealed episodes on the stream EPISODES, told apart from what is foreign there. Nothing is verified here."""

from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.provenance import is_named, pass_over

_BEGINNING = b'{"checkpoint":"'


def is_sealed_episode(stored: Delivery) -> bool:
    """Whether a seal bundle stands there: it says so, or, of an older version, begins like one."""
    if is_named(stored) or stored.body.startswith(_BEGINNING):
        return True
    pass_over(stored, "no sealed episode")
    return False
