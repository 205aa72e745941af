"""Transfers of a kind; the kinds are members of an enum whose members are strings."""

from enum import Enum

from lictor_layer import trusted


class Kind(str, Enum):
    """How large a transfer is."""

    SMALL = "small"
    LARGE = "large"


LARGE = Kind.LARGE


@trusted
def charge(account: str, amount: int) -> None:
    """Take money."""
