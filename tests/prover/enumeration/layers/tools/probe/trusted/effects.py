"""What enumerated programs ask for values that nobody knows, and show what they made of them."""

from lictor_layer import trusted

from .schemas import PairRow, WiderRow


@trusted
def observe(value: object) -> None:
    """Look at a value."""


@trusted
def nothing() -> None:
    """Returns None."""


@trusted
def a_bool() -> bool:
    """Any bool."""
    return False


@trusted
def an_int() -> int:
    """Any whole number."""
    return 0


@trusted
def a_count() -> int:
    """A whole number that something may be done so often."""
    return 0


@trusted
def a_vast() -> int:
    """A whole number that nothing can be done so often."""
    return 2**64


@trusted
def a_float() -> float:
    """Any float."""
    return 0.0


@trusted
def a_str() -> str:
    """Any string."""
    return ""


@trusted
def a_row() -> PairRow:
    """Any row."""
    return PairRow(text="", count=0, flag=False, size=0.0)


@trusted
def a_wider_row() -> WiderRow:
    """Any row with one column more."""
    return WiderRow(text="", count=0, flag=False, size=0.0, note="")


@trusted
def bools() -> list[bool]:
    """Any bools."""
    return []


@trusted
def ints() -> list[int]:
    """Any whole numbers."""
    return []


@trusted
def floats() -> list[float]:
    """Any floats."""
    return []


@trusted
def strs() -> list[str]:
    """Any strings."""
    return []


@trusted
def rows() -> list[PairRow]:
    """Any rows."""
    return []
