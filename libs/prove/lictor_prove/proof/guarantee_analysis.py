"""How the guarantees of a program stand: whether they can be kept, whether they say anything here, and anything new.

This never touches a verdict. It has a time of its own; what is not decided within it is `unknown`.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lictor_ir.analysis.contract_parts import parts_of, subject
from lictor_ir.analysis.contract_sets import Possibility, Possible, Reduction, possible, reduced
from lictor_ir.analysis.entailment import EntailmentVerdict
from lictor_ir.analysis.signature import Signature
from lictor_ir.analysis.solver_budget import Budget
from lictor_ir.analysis.witnesses import told
from lictor_ir.contracts import AtEnd, Contract, Relation
from lictor_ir.covered_effects import covered_fields
from lictor_ir.document import Atom, Document
from lictor_ir.errors import IrError
from lictor_ir.terms import FALSE, TRUE

MOST_GUARANTEES: Final = 12
"""More are not held against each other."""
MOST_REMEMBERED: Final = 512
"""Answers about contracts that are kept: agents state the same ones again and again."""


@dataclass(frozen=True, slots=True)
class AnalysedGuarantee:
    """How one guarantee stands."""

    name: str
    possibility: Possibility
    """Whether it can be kept by doing what it speaks of."""
    is_vacuous: bool
    """The program never does what it speaks of: it holds of nothing here."""
    is_redundant: bool | None
    """The other guarantees imply it; None when that is not known."""
    implied_by: tuple[str, ...] = ()
    """Which of them; none when it holds of every trace."""
    reason: str = ""
    """The argument why it can't be kept or is redundant, or what is not known."""
    witness: tuple[str, ...] = ()
    """A trace that keeps the others and breaks it, where it is not redundant."""


@dataclass(frozen=True, slots=True)
class GuaranteeAnalysis:
    """How all guarantees of a program stand."""

    standings: tuple[AnalysedGuarantee, ...]
    is_complete: bool
    """Everything was decided."""
    ms: float = 0.0


def analysis_of(
    document: Document,
    signature: Signature,
    budget: Budget,
    *,
    is_proved: bool,
    broken_by: Sequence[str] = (),
) -> GuaranteeAnalysis:
    """How the document's guarantees stand; never raises, and never takes much longer than the budget.

    `broken_by`: a run of the program that breaks its only guarantee, where one is known.
    """
    begun = time.perf_counter()
    contracts = [each.contract for each in document.guarantees]
    vacuous = [_is_vacuous(document, each) for each in contracts]
    try:
        if len(contracts) > MOST_GUARANTEES:
            raise IrError(f"there are more than {MOST_GUARANTEES} guarantees")
        signature.check(contracts)
        if broken_by and len(contracts) == 1:
            standings = [_broken(document, signature, budget, vacuous[0], broken_by)]
        else:
            standings = _standings(document, signature, budget, vacuous, is_proved=is_proved)
    except (IrError, MemoryError, RecursionError) as error:
        why = "it needs too much memory" if isinstance(error, MemoryError) else str(error)
        standings = [
            AnalysedGuarantee(each.name, Possibility.UNKNOWN, vacuous[at], None, reason=why)
            for at, each in enumerate(document.guarantees)
        ]
    complete = all(
        each.possibility is not Possibility.UNKNOWN and each.is_redundant is not None
        for each in standings
    )
    return GuaranteeAnalysis(tuple(standings), complete, (time.perf_counter() - begun) * 1000)


def _broken(
    document: Document,
    signature: Signature,
    budget: Budget,
    is_vacuous: bool,
    broken_by: Sequence[str],
) -> AnalysedGuarantee:
    """The only guarantee of a program that breaks it: that run shows that not every trace keeps it."""
    (guarantee,) = document.guarantees
    able = _Known(document, signature, (guarantee.contract,)).possible(0, budget)
    reason = "" if able.possibility is Possibility.SATISFIABLE else able.reason
    return AnalysedGuarantee(
        guarantee.name,
        able.possibility,
        is_vacuous,
        False,
        reason=reason,
        witness=tuple(broken_by),
    )


def _standings(
    document: Document,
    signature: Signature,
    budget: Budget,
    vacuous: Sequence[bool],
    *,
    is_proved: bool,
) -> list[AnalysedGuarantee]:
    contracts = tuple(each.contract for each in document.guarantees)
    known = _Known(document, signature, contracts)
    reduction = known.reduction(budget)
    why = {each.contract: each for each in reduction.redundant}
    found: list[AnalysedGuarantee] = []
    for at, guarantee in enumerate(document.guarantees):
        if is_proved and _surely_happens(document, guarantee.contract):
            # The program's own run keeps it by doing what it speaks of.
            possibility, reason = Possibility.SATISFIABLE, ""
        else:
            able = known.possible(at, budget)
            possibility = able.possibility
            reason = "" if possibility is Possibility.SATISFIABLE else able.reason
        if at in why:
            by = tuple(document.guarantees[each].name for each in why[at].by)
            argument = "; ".join(filter(None, [reason, why[at].entailment.reason]))
            found.append(
                AnalysedGuarantee(guarantee.name, possibility, vacuous[at], True, by, argument)
            )
            continue
        missing = reduction.needed[at]
        is_known = missing.verdict is EntailmentVerdict.NOT_IMPLIED
        found.append(
            AnalysedGuarantee(
                guarantee.name,
                possibility,
                vacuous[at],
                False if is_known else None,
                reason="; ".join(filter(None, [reason, "" if is_known else missing.reason])),
                witness=told(missing.witness) if missing.witness is not None else (),
            )
        )
    return found


class _Known:
    """What is known of the contracts of a document; under a layer, also from documents before."""

    _remembered: ClassVar[OrderedDict[Hashable, Any]] = OrderedDict()

    def __init__(
        self, document: Document, signature: Signature, contracts: tuple[Contract, ...]
    ) -> None:
        self._signature = signature
        self._contracts = contracts
        # A layer's hash stands for its effects and what they do; the rest is the document's own.
        self._key: Hashable = (document.layer_hash, document.schemas, document.enums)
        self._is_kept = document.layer_hash is not None and not signature.is_free

    def reduction(self, budget: Budget) -> Reduction:
        """What of the contracts is redundant."""
        key = (self._key, self._contracts)
        found = self._remembered.get(key) if self._is_kept else None
        if found is None:
            found = reduced(self._signature, self._contracts, budget)
            if all(each.verdict is not EntailmentVerdict.UNKNOWN for each in found.needed.values()):
                self._remember(key, found)
        return found

    def possible(self, at: int, budget: Budget) -> Possible:
        """Whether one of them can be kept."""
        key = (self._key, self._contracts[at], "possible")
        found = self._remembered.get(key) if self._is_kept else None
        if found is None:
            found = possible(self._signature, [self._contracts[at]], budget)
            if found.possibility is not Possibility.UNKNOWN:
                self._remember(key, found)
        return found

    def _remember(self, key: Hashable, found: object) -> None:
        if self._is_kept:
            self._remembered[key] = found
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.popitem(last=False)


def _is_vacuous(document: Document, contract: Contract) -> bool:
    """Whether no atom that may happen is one that it speaks of; what only forbids is never vacuous."""
    subjects = [relation for part in parts_of([contract]) for relation in subject(part)]
    ends = any(isinstance(part, AtEnd) for part in parts_of([contract]))
    return bool(subjects) and not ends and not _happening(document, subjects)


def _surely_happens(document: Document, contract: Contract) -> bool:
    """Whether each of its parts speaks of an atom that every run makes."""
    return all(
        any(
            atom.guard is TRUE and not atom.binders and relation.where is None
            for relation in subject(part)
            for atom in _happening(document, [relation])
        )
        for part in parts_of([contract])
    )


def _happening(document: Document, relations: Sequence[Relation]) -> list[Atom]:
    events = {event.name: event for event in document.events}
    return [
        atom
        for atom in document.atoms
        if atom.guard is not FALSE
        and any(list(covered_fields(atom, relation, events)) for relation in relations)
    ]
