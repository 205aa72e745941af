"""Sums and counts held against each other step by step, so that their bounds may be of any size.

If each step adds to one amount at most so many times what it adds to others, the amount is at most so many times those.
`(sum e in withdraw : e.amount) <= 5` follows from `forall e in withdraw : e.amount <= 1` with `(count e in withdraw)
<= 5`: each row adds at most once what it adds to the count. One step is enough to ask, and the premises that hold of
every sub-trace hold of it. A lower bound is an upper bound of what is negated.

Floats round, so amounts of floats are not compared this way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lictor_ir.analysis.contract_formulas import at_most, rows_in, total
from lictor_ir.analysis.contract_parts import limit
from lictor_ir.analysis.trace_variables import SymbolicTrace, TraceRow
from lictor_ir.contracts import UPPER, Comparison, Contract, Count, Empty, Sum
from lictor_ir.terms import Term, and_, apply, const, not_, or_
from lictor_ir.types import BOOL, FLOAT, INT, REAL

STRICT = (Comparison.LESS, Comparison.MORE)


@dataclass(frozen=True, slots=True)
class Bounded:
    """An amount with an upper bound; a lower bound is one of the negated amount."""

    of: Count | Sum
    negated: bool
    bound: Fraction
    strict: bool
    """The bound itself is not reached."""

    @property
    def is_whole(self) -> bool:
        """Whether it counts in whole numbers."""
        return isinstance(self.of, Count) or self.of.of.type in (INT, BOOL)


def bounded(contract: Contract) -> Bounded | None:
    """The contract as an upper bound, if it is about an amount that adds up exactly."""
    if isinstance(contract, Empty):
        contract = Count(contract.relation, Comparison.AT_MOST, const(0))
    if not isinstance(contract, Count | Sum):
        return None
    if isinstance(contract, Sum) and contract.of.type == FLOAT:
        return None
    found = limit(contract.bound)
    if found is None or contract.comparison is Comparison.EXACTLY:
        return None
    negated = contract.comparison not in UPPER
    top = -found if negated else found
    strict = contract.comparison in STRICT
    made = Bounded(contract, negated, top, strict)
    if made.is_whole:
        whole = math.ceil(top) - 1 if strict else math.floor(top)
        return Bounded(contract, negated, Fraction(whole), strict=False)
    return made


@dataclass(frozen=True, slots=True)
class Mixture:
    """So many times each of these amounts."""

    parts: tuple[tuple[Fraction, Bounded], ...]

    def shows(self, wanted: Bounded) -> bool:
        """Whether the bound follows, if each step adds at most the mixture."""
        top = sum((times * part.bound for times, part in self.parts), Fraction(0))
        reached = not any(part.strict and times > 0 for times, part in self.parts)
        return top < wanted.bound or (top == wanted.bound and not (wanted.strict and reached))


def mixtures(wanted: Bounded, known: Sequence[Bounded]) -> Iterator[Mixture]:
    """Mixtures whose bounds are good enough, the plainest first."""
    tried = [Mixture(())]
    tried += [Mixture(((Fraction(1), each),)) for each in known]
    tried += [
        Mixture(((wanted.bound / each.bound, each),))
        for each in known
        if each.bound > 0 and wanted.bound >= 0
    ]
    if len(known) > 1:
        tried.append(Mixture(tuple((Fraction(1), each) for each in known)))
    yield from (each for each in dict.fromkeys(tried) if each.shows(wanted))


def exceeded(wanted: Bounded, mixture: Mixture, trace: SymbolicTrace) -> Term:
    """That some step of the trace adds more to the amount than to the mixture."""
    scale = math.lcm(*(times.denominator for times, _ in mixture.parts))
    ways: list[Term] = []
    for unit in _units(trace):
        ours = _scaled(wanted, Fraction(scale), unit, trace)
        theirs = [_scaled(part, times * scale, unit, trace) for times, part in mixture.parts]
        amounts = [ours, *theirs]
        if any(each.type == REAL for each in amounts):
            amounts = [
                each if each.type == REAL else apply("real_of_int", each) for each in amounts
            ]
            zero: Term = const(Fraction(0))
        else:
            zero = const(0)
        most = apply("add", *amounts[1:]) if len(amounts) > 1 else zero
        ways.append(and_(unit[0].present, not_(at_most(amounts[0], most))))
    return or_(*ways)


def _units(trace: SymbolicTrace) -> list[list[TraceRow]]:
    """Rows that come together. Where a call may perform anything, each row is judged alone."""
    if trace.scope.signature.is_free:
        return [[row] for row in trace.rows]
    units: dict[Term, list[TraceRow]] = {}
    for row in trace.rows:
        units.setdefault(row.present, []).append(row)
    return list(units.values())


def _scaled(part: Bounded, times: Fraction, unit: Sequence[TraceRow], trace: SymbolicTrace) -> Term:
    of = part.of
    amount = rows_in(of.relation, trace, unit) if isinstance(of, Count) else total(of, trace, unit)
    factor = -int(times) if part.negated else int(times)
    number = const(factor) if amount.type == INT else const(Fraction(factor))
    return apply("mul", number, amount)
