"""A desk that can do harm: the trusted functions that adversarial and generated programs call."""

from lictor_layer import ensures, fluent, requires, sets, trusted

from .schemas import OrderRow, UserRow

DoorLocked = fluent("door_locked", key=str, value=bool, initial=True)


@trusted
def send_email(addr: str, msg: str) -> None:
    """Send a message."""


@requires(lambda addr, msg: addr.endswith("@example.com"), message="only our own people")
@trusted
def send_inside(addr: str, msg: str) -> None:
    """Send a message to one of our own people."""


@trusted
def send_copies(addr: str, copies: list[str], urgent: bool = False) -> None:
    """Send a message with copies."""


@trusted
def pay(account: str, amount: int) -> None:
    """Pay a whole amount."""


@requires(lambda amount: amount >= 0, message="never a negative amount")
@trusted
def refund(amount: int) -> None:
    """Pay back."""


@trusted
def pay_float(amount: float) -> None:
    """Pay an amount with cents."""


@trusted
def log(text: str) -> None:
    """Write a line."""


@trusted
def is_allowed(addr: str) -> bool:
    """Whether an address may be written to."""
    return False


@trusted
def lookup(name: str) -> str:
    """Somebody's address."""
    return ""


@ensures(lambda result: result >= 0)
@trusted
def balance(account: str) -> int:
    """What an account holds."""
    return 0


@trusted
def number() -> int:
    """Any whole number."""
    return 0


@trusted
def rate() -> float:
    """Any float: it may be NaN."""
    return 0.0


@ensures(lambda result: result == "bob@example.com")
@trusted
def bob() -> str:
    """Bob's address."""
    return "bob@example.com"


@ensures(lambda result: result > 0 and result < 0)
@trusted
def impossible() -> int:
    """Promises what no number can keep."""
    return 0


@trusted
def opaque() -> object:
    """Returns something without a model."""
    return object()


@trusted
def nothing() -> None:
    """Returns None."""


@ensures(lambda result: len(result) <= 3)
@trusted
def users() -> list[UserRow]:
    """At most three users."""
    return []


@trusted
def everybody() -> list[UserRow]:
    """Any number of users."""
    return []


@ensures(lambda result: len(result) <= 5)
@trusted
def orders(desk: str) -> list[OrderRow]:
    """At most five orders."""
    return []


@ensures(lambda result: len(result) <= 4)
@trusted
def names() -> list[str]:
    """At most four addresses."""
    return []


@trusted
def sell(stock: str, shares: int) -> None:
    """Sell."""


@trusted
@sets(lambda door: DoorLocked.set(door, False))
def unlock(door: str) -> None:
    """Unlock a door."""


@trusted
@sets(lambda door: DoorLocked.set(door, True))
def lock(door: str) -> None:
    """Lock a door."""


@trusted
def find_user(email: str) -> UserRow | None:
    """The user with an address, if there is one."""
    return None


@ensures(lambda result: result is None or result < 0)
@trusted
def find_age(email: str) -> int | None:
    """Somebody's age, if it is known."""
    return None


@trusted
def ages() -> dict[str, int]:
    """How old users are, by address."""
    return {}


@trusted
def page(cursor: str) -> tuple[list[UserRow], str]:
    """Some users, and the cursor of those that follow."""
    return [], ""


@trusted
def tags() -> set[str]:
    """Tags."""
    return set()
