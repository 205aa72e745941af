"""Effects, in the style of clauz3."""

import clauz3
import deal

from .rows import LotRow


@deal.has("trade")
@deal.pre(lambda stock, shares: shares >= 0, message="never a negative amount")
def sell_lot(stock: str, shares: int) -> None:
    """Sell a lot."""


@clauz3.trusted
@clauz3.ensures(lambda result: len(result) <= 5)
def lots(desk: str) -> list[LotRow]:
    """The lots of a desk."""
    return []


@clauz3.trusted
def mail(addr: str, msg: str) -> None:
    """Send a message."""
