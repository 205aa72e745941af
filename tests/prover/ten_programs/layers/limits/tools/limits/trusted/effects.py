"""A limit that a trusted function changes."""

from lictor_layer import trusted

LIMIT = 5


@trusted
def charge(account: str, amount: int) -> None:
    """Take money."""


@trusted
def raise_limit() -> None:
    """From now on, more."""
    global LIMIT
    LIMIT = 1_000_000
