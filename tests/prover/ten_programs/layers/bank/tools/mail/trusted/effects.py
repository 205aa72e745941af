"""The post office of the bank."""

from lictor_layer import trusted


@trusted
def post(addr: str) -> None:
    """Send a parcel."""
