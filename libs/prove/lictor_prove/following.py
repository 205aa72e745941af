"""What may be concluded from what was proved, by the runs of which it was proved.

A guarantee that holds of completed runs alone says nothing about a run that ends early. So it may be a reason only for
contracts about the end of a run; every other contract must follow from what holds however early a run ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lictor_ir.analysis.leaves import is_about_the_end
from lictor_ir.contracts import Contract, leaves
from lictor_ir.goals import Strength

Proved = Sequence[tuple[Contract, Strength]]
"""Contracts that were proved, each with the runs of which."""


def to_follow(wanted: Contract, proved: Proved) -> Iterator[tuple[tuple[Contract, ...], Contract]]:
    """What has to follow for a contract to be implied: each of its parts, with what may be a reason for it.

    By parts: a part about the end must not let the others lean on what holds only there.
    """
    finished = tuple(contract for contract, _ in proved)
    anytime = tuple(contract for contract, when in proved if when is Strength.EVERY_PREFIX)
    for part in leaves(wanted):
        yield (finished if is_about_the_end(part) else anytime), part
