"""For which runs a contract can be promised, as far as it alone tells."""

from __future__ import annotations

from lictor_ir.contracts import UPPER, AtEnd, Contract, Count, SharesValue, Sum
from lictor_ir.goals.goal import Strength


def strength(contract: Contract) -> Strength:
    """For which runs a contract that is no conjunction is surely promised.

    A proof may find more: whether a sum can only grow is told by what the program adds.
    """
    match contract:
        case SharesValue() | AtEnd() | Sum():
            return Strength.ON_COMPLETION
        case Count(comparison=comparison) if comparison not in UPPER:
            return Strength.ON_COMPLETION
        case _:
            return Strength.EVERY_PREFIX
