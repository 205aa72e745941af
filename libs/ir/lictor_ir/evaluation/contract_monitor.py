"""Holds the guarantees of a document before each call of a run, and when the run is complete.

Most contracts can't be mended: once a call breaks them, no later call makes them hold again. Those are held with every
call that is about to be made. The others promise that something will have happened, and are held at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace

from lictor_ir.contracts import (
    UPPER,
    Anything,
    AtEnd,
    Both,
    Comparison,
    Contract,
    Count,
    Sum,
    leaves,
)
from lictor_ir.document import Document, Guarantee
from lictor_ir.errors import UnknownError, UnspecifiedError, UntriedError
from lictor_ir.evaluation.contract_readings import Reading, reading
from lictor_ir.evaluation.contract_truth import every, holds
from lictor_ir.evaluation.steps import Step, Trace
from lictor_ir.evaluation.term_values import Evaluation
from lictor_ir.goals.aggregates import never_decreases
from lictor_ir.goals.contract_strength import strength
from lictor_ir.goals.goal import Strength


def stays_broken(leaf: Contract, document: Document) -> bool:
    """Whether a run of this document that breaks the contract breaks it however it continues."""
    if isinstance(leaf, Sum):
        return leaf.comparison in UPPER and never_decreases(document, leaf)
    return strength(leaf) is Strength.EVERY_PREFIX


@dataclass(frozen=True, slots=True)
class UnkeptGuarantee:
    """A guarantee that a run does not keep, or of which nobody can say whether it does."""

    guarantee: Guarantee
    open: str | None = None
    """Why nobody can say; None when it is broken."""


def _held(leaf: Contract) -> Contract:
    """What of the contract counts before the end: of `exactly`, that it is not more."""
    if isinstance(leaf, Count | Sum) and leaf.comparison is Comparison.EXACTLY:
        return replace(leaf, comparison=Comparison.AT_MOST)
    return leaf


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a guarantee that is no conjunction."""

    contract: Contract
    reading: Reading | None
    """What the calls so far show of it; None when only the complete run counts."""

    @classmethod
    def of(cls, leaf: Contract, document: Document) -> _Part:
        """The part before the first call."""
        held = _held(leaf)
        if isinstance(held, Anything | AtEnd | Both) or not stays_broken(held, document):
            return cls(leaf, None)
        return cls(leaf, reading(held, document))

    def holds_so_far(self) -> bool:
        return self.reading is None or self.reading.holds()

    def holds_of(self, trace: Trace) -> bool:
        # More may be known by now of what was open when a call was made.
        if (
            self.reading is None
            or self.reading.is_open
            or _held(self.contract) is not self.contract
        ):
            return holds(self.contract, trace)
        return self.reading.holds()


class ContractMonitor:
    """The guarantees of a document, and what the calls so far show of them.

    What rests on a declared unknown that nobody has seen is left to the proof, which holds of every value. So are keys
    that no call has set: no run shows anything of them.
    """

    def __init__(self, document: Document) -> None:
        self._stated: Sequence[tuple[Guarantee, Sequence[_Part]]] = [
            (each, [_Part.of(leaf, document) for leaf in leaves(each.contract)])
            for each in document.guarantees
        ]

    def copy(self) -> ContractMonitor:
        """The same calls, to be continued separately."""
        made = copy(self)
        made._stated = [
            (
                guarantee,
                [_Part(part.contract, part.reading and part.reading.copy()) for part in parts],
            )
            for guarantee, parts in self._stated
        ]
        return made

    def add(self, step: Step, inside: Evaluation) -> None:
        """The next call, which is about to be made; `inside`: the values of its atom's terms."""
        for _, parts in self._stated:
            for part in parts:
                if part.reading is not None:
                    part.reading.add(step, inside)

    def unkept(self) -> UnkeptGuarantee | None:
        """A guarantee that the calls so far break for good."""
        return self._unkept(_Part.holds_so_far)

    def unkept_at_end(self, trace: Trace) -> UnkeptGuarantee | None:
        """A guarantee that the run does not keep, once it is complete."""
        return self._unkept(lambda part: part.holds_of(trace))

    def broken_by(self, trace: Trace) -> tuple[Guarantee, int] | None:
        """A guarantee that a complete run breaks, and after how many calls that is certain.

        To be asked before the first call, as often as there are runs.
        """
        monitor = self.copy()
        for step in trace.steps:
            monitor.add(step, Evaluation(trace.at(step), trace.facts))
            unkept = monitor.unkept()
            if unkept is not None and unkept.open is None:
                return unkept.guarantee, step.number + 1
        unkept = monitor.unkept_at_end(trace)
        if unkept is not None and unkept.open is None:
            return unkept.guarantee, len(trace.steps)
        return None

    def _unkept(self, check: Callable[[_Part], bool]) -> UnkeptGuarantee | None:
        left: UnkeptGuarantee | None = None
        for guarantee, parts in self._stated:
            try:
                if not every(lambda part=part: check(part) for part in parts):
                    return UnkeptGuarantee(guarantee)
            except (UnknownError, UntriedError):
                continue
            except UnspecifiedError as error:
                left = left or UnkeptGuarantee(guarantee, str(error))
        return left
