"""What programs may do at the bank."""

from lictor_layer import ensures, trusted

from .schemas import BestClientRow, ClientRow


@trusted
def charge(account: str, amount: int) -> None:
    """Take money."""


@trusted
def send(addr: str) -> None:
    """Send a letter."""


@trusted
def text() -> str:
    """What somebody wrote."""
    return ""


@trusted
def balance(account: str) -> int:
    """What is on an account; it may be overdrawn."""
    return 0


@ensures(lambda n, result: result >= 0 and result < n)
@trusted
def pick(n: int) -> int:
    """One of the numbers below n."""
    return n - 1


@trusted
def clients() -> list[ClientRow]:
    """Everybody."""
    return []


@trusted
def best_clients() -> list[BestClientRow]:
    """Those with a discount."""
    return []
