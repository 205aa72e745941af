"""What a run shows of a contract, call by call: the contract algebra, written as plainly as it can be.

A reading takes each call once, in order, and can be asked at any time whether the contract holds of the calls so far.
What is left open of a row counts as open, unless the other rows decide the contract. Rows of a call that failed may be
there or not: what may be broken counts as broken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from operator import eq, ge, gt, le, lt
from typing import Any, Final, Self

from lictor_ir.contracts import (
    UPPER,
    All,
    Before,
    Comparison,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    SharesValue,
    Sum,
)
from lictor_ir.document import Document
from lictor_ir.errors import UnknownError, UnspecifiedError, UntriedError
from lictor_ir.evaluation.relation_rows import RelationRows, Row
from lictor_ir.evaluation.seen_values import SeenValues
from lictor_ir.evaluation.steps import Step
from lictor_ir.evaluation.term_values import Environment, Evaluation, value
from lictor_ir.goals.aggregates import never_decreases
from lictor_ir.terms import Term

Leaf = All | Empty | Distinct | Count | Sum | SharesValue | Before | NeverAfter
"""A contract about calls that is no conjunction."""

_COMPARE: Final[Mapping[Comparison, Callable[[Any, Any], bool]]] = {
    Comparison.AT_MOST: le,
    Comparison.LESS: lt,
    Comparison.AT_LEAST: ge,
    Comparison.MORE: gt,
    Comparison.EXACTLY: eq,
}


def reading(contract: Leaf, document: Document) -> Reading:
    """The reading of a contract about calls of this document, before the first call."""
    match contract:
        case All():
            return _AllReading(contract, document)
        case Empty():
            return _EmptyReading(contract, document)
        case Distinct():
            return _DistinctReading(contract, document)
        case Count():
            return _CountReading(contract, document)
        case Sum():
            return _SumReading(contract, document)
        case SharesValue():
            return _SharesValueReading(contract, document)
        case Before():
            return _BeforeReading(contract, document)
        case NeverAfter():
            return _NeverAfterReading(contract, document)


def heavier(one: UnspecifiedError | None, other: UnspecifiedError) -> UnspecifiedError:
    """Of two things that are open, what nobody declared unknown: no reader may take it for what somebody did."""
    light = (UnknownError, UntriedError)
    return (
        other if one is None or (isinstance(one, light) and not isinstance(other, light)) else one
    )


class Reading(ABC):
    """What the calls so far show of one contract."""

    def __init__(self) -> None:
        self._broken = False
        self._open: UnspecifiedError | None = None

    @abstractmethod
    def add(self, step: Step, inside: Evaluation) -> None:
        """The next call; `inside`: the values of its atom's terms."""

    def holds(self) -> bool:
        """Whether the contract holds of the calls so far, taken as the whole run; UnspecifiedError when open."""
        if self._broken:
            return False
        if self._open is not None:
            raise _anew(self._open)
        return True

    @property
    def is_open(self) -> bool:
        """Whether something of the calls so far could not be read."""
        return self._open is not None

    def copy(self) -> Self:
        """The same, to be continued separately."""
        made = copy(self)
        for name, each in vars(self).items():
            if isinstance(each, SeenValues):
                setattr(made, name, each.copy())
        return made

    def _leave_open(self, error: UnspecifiedError) -> None:
        self._open = heavier(self._open, error)

    def _each(
        self,
        rows: RelationRows,
        step: Step,
        inside: Evaluation,
        see: Callable[[Row], None],
        leave_open: Callable[[UnspecifiedError], None] | None = None,
    ) -> None:
        """See each row of the call that is in the relation."""
        for row in rows.covered(step, inside):
            try:
                if rows.has(row):
                    see(row)
            except UnspecifiedError as error:
                (leave_open or self._leave_open)(error)


class _RowsReading(Reading):
    """Of a contract about one relation."""

    def __init__(self, contract: All | Empty | Distinct | Count | Sum, document: Document) -> None:
        super().__init__()
        self._rows = RelationRows(document, contract.relation)

    def add(self, step: Step, inside: Evaluation) -> None:
        self._each(self._rows, step, inside, self._see)

    @abstractmethod
    def _see(self, row: Row) -> None: ...


class _AllReading(_RowsReading):
    def __init__(self, contract: All, document: Document) -> None:
        super().__init__(contract, document)
        self._predicate = contract.holds

    def _see(self, row: Row) -> None:
        self._broken |= not row.holds(self._predicate)


class _EmptyReading(_RowsReading):
    def _see(self, row: Row) -> None:
        del row
        self._broken = True


class _DistinctReading(_RowsReading):
    def __init__(self, contract: Distinct, document: Document) -> None:
        super().__init__(contract, document)
        self._key = contract.key
        self._seen = SeenValues()

    def _see(self, row: Row) -> None:
        key = row.value(self._key)
        self._broken |= self._seen.have(key)
        self._seen.add(key)


class _CountReading(_RowsReading):
    def __init__(self, contract: Count, document: Document) -> None:
        super().__init__(contract, document)
        self._contract = contract
        self._least = self._most = 0

    def _see(self, row: Row) -> None:
        self._least += row.is_certain
        self._most += 1

    def holds(self) -> bool:
        comparison = self._contract.comparison
        kept = _both_compared(self._least, self._most, comparison, self._contract.bound)
        # Rows that may be in the relation can only add to it.
        may_change = comparison is Comparison.EXACTLY or kept is (comparison in UPPER)
        if self._open is not None and may_change:
            raise _anew(self._open)
        return kept


class _SumReading(_RowsReading):
    def __init__(self, contract: Sum, document: Document) -> None:
        super().__init__(contract, document)
        self._contract = contract
        self._document = document
        self._least: Any = 0
        self._most: Any = 0

    def _see(self, row: Row) -> None:
        number = row.value(self._contract.of)
        try:
            # NaN is neither, and counts in both.
            if row.is_certain or not number >= 0:
                self._least = self._least + number
            if row.is_certain or not number < 0:
                self._most = self._most + number
        except OverflowError:
            raise UnspecifiedError("an int is added to a float that can't hold it") from None

    def holds(self) -> bool:
        contract = self._contract
        kept = _both_compared(self._least, self._most, contract.comparison, contract.bound)
        if self._open is not None and (kept or not self._can_only_grow):
            raise _anew(self._open)
        return kept

    @property
    def _can_only_grow(self) -> bool:
        """Whether numbers that can't be read only add to a sum that is too large already."""
        contract = self._contract
        return contract.comparison in UPPER and never_decreases(self._document, contract)


class _SharesValueReading(Reading):
    def __init__(self, contract: SharesValue, document: Document) -> None:
        super().__init__()
        self._key = contract.key
        self._left = RelationRows(document, contract.left)
        self._right = RelationRows(document, contract.right)
        self._left_seen = SeenValues()
        self._right_seen = SeenValues()
        self._shared = False

    def add(self, step: Step, inside: Evaluation) -> None:
        self._each(
            self._left, step, inside, lambda row: self._see(row, self._left_seen, self._right_seen)
        )
        self._each(
            self._right, step, inside, lambda row: self._see(row, self._right_seen, self._left_seen)
        )

    def _see(self, row: Row, own: SeenValues, others: SeenValues) -> None:
        key = row.value(self._key)
        if not row.is_certain:
            return
        own.add(key)
        self._shared |= others.have(key)

    def holds(self) -> bool:
        if not self._shared and self._open is not None:
            raise _anew(self._open)
        return self._shared


class _OrderReading(Reading):
    """Of a contract about what happens before something else: of one call's rows, none is before another."""

    def __init__(self, contract: Before | NeverAfter, document: Document) -> None:
        super().__init__()
        self._first = RelationRows(document, contract.first)
        self._then = RelationRows(document, contract.then)
        self._first_open: UnspecifiedError | None = None
        """Why something may have been first, and nobody can say."""

    def add(self, step: Step, inside: Evaluation) -> None:
        self._each(self._then, step, inside, self._see_then)
        self._each(self._first, step, inside, self._see_first, self._leave_first_open)

    @abstractmethod
    def _see_first(self, row: Row) -> None: ...

    @abstractmethod
    def _see_then(self, row: Row) -> None: ...

    def _leave_first_open(self, error: UnspecifiedError) -> None:
        self._first_open = heavier(self._first_open, error)

    @property
    def is_open(self) -> bool:
        return self._open is not None or self._first_open is not None


class _BeforeReading(_OrderReading):
    def __init__(self, contract: Before, document: Document) -> None:
        super().__init__(contract, document)
        keys = (contract.first_key, contract.then_key)
        # Without keys, every first is for every then.
        self._first_key, self._then_key = (None, None) if None in keys else keys
        self._seen = SeenValues()

    def _see_first(self, row: Row) -> None:
        if row.is_certain:
            self._seen.add(_key(row, self._first_key))

    def _see_then(self, row: Row) -> None:
        if self._seen.have(_key(row, self._then_key)):
            return
        if self._first_open is not None:
            raise _anew(self._first_open)
        self._broken = True


class _NeverAfterReading(_OrderReading):
    def __init__(self, contract: NeverAfter, document: Document) -> None:
        super().__init__(contract, document)
        self._begun = False

    def add(self, step: Step, inside: Evaluation) -> None:
        if self._begun or self._first_open is not None:
            self._each(self._then, step, inside, self._see_then)
        self._each(self._first, step, inside, self._see_first, self._leave_first_open)

    def _see_first(self, row: Row) -> None:
        del row
        self._begun = True

    def _see_then(self, row: Row) -> None:
        del row
        if not self._begun and self._first_open is not None:
            raise _anew(self._first_open)
        self._broken = True


def _anew(error: UnspecifiedError) -> UnspecifiedError:
    """An error that is raised again and again, without the places where it was before: they would pile up."""
    return error.with_traceback(None)


def _key(row: Row, key: Term | None) -> Any:
    return None if key is None else row.value(key)


def _both_compared(least: Any, most: Any, comparison: Comparison, bound: Term) -> bool:
    """Whether every amount from the least to the most keeps the bound."""
    return all(_compared(each, comparison, bound) for each in (least, most))


def _compared(amount: Any, comparison: Comparison, bound: Term) -> bool:
    limit: Any = value(bound, Environment())
    return _COMPARE[comparison](amount, limit)
