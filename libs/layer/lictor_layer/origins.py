"""Predicates about where a value came from. The prover decides them; they have no meaning at run time.

Send.all(lambda e: comes_from(e.addr, UserRow.email))
Sell.all(lambda e: same_row((e.stock, Approval.stock), (e.shares, Approval.shares)))
"""

from __future__ import annotations

from typing import Final, NoReturn

from lictor_layer.errors import LayerError

ORIGIN_ATTRIBUTE: Final = "__lictor_origin__"


def comes_from(value: object, column: object) -> bool:
    """The value is this column of a row that a trusted call returned, unchanged."""
    _only_proved("comes_from", value, column)


def same_row(*pairs: tuple[object, object]) -> bool:
    """The values are these columns of one and the same row that a trusted call returned."""
    _only_proved("same_row", *pairs)


def _only_proved(name: str, *_: object) -> NoReturn:
    raise LayerError(f"{name} is decided by the prover, in the lambdas of contracts; it can't run")


setattr(comes_from, ORIGIN_ATTRIBUTE, "from")
setattr(same_row, ORIGIN_ATTRIBUTE, "same_row")
