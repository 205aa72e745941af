"""Holds what a program does against its document, call by call: online beside it, or later from a record.

Where a declared unknown decides, every way that it may go is followed, and those that do not fit what happens are
dropped. If none is left, the program does something that its document does not say. There may be too many ways to
follow them all; following fewer admits less, never more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lictor_ir.document import Document, Span
from lictor_ir.errors import (
    BrokenPromiseError,
    DifferenceError,
    IrError,
    TermError,
    TooManyWaysError,
    UnspecifiedError,
)
from lictor_ir.evaluation.contract_monitor import UnkeptGuarantee
from lictor_ir.evaluation.possible_run import PossibleRun
from lictor_ir.evaluation.steps import NOT_RETURNED, Trace
from lictor_ir.json.document import document_terms
from lictor_ir.terms import results
from lictor_ir.types import ANY, ListOf, RowOf, Type
from lictor_ir.values import Open, Value

MAX_WAYS: Final = 64
"""Ways that are followed at once."""
MAX_FORKS: Final = 2_000
"""Ways that are looked at for one call, until one fits."""
FORKS_A_CALL: Final = 200
"""The same for a whole run: so many more with each of its calls."""
MAX_OTHERS: Final = 16
"""Calls that are compared after the first that fits, or ends after the first; the nearest come first."""


class Following:
    """A document that is run beside a program. Every method raises a DifferenceError when they part."""

    def __init__(
        self,
        document: Document,
        inputs: Mapping[str, Value],
        *,
        monitored: bool = False,
        most: int | None = None,
    ) -> None:
        """`monitored`: the document's guarantees are held, too (`unkept`).

        `most`: ways that are looked at in the whole run; if not given, more with each call.
        """
        try:
            self._ways = [PossibleRun.of(document, inputs, monitored=monitored)]
        except IrError as error:
            raise DifferenceError(f"the document can't be run: {error}") from None
        self._waits = False
        self._over: list[PossibleRun] = []
        """Ways in which the call that failed last ended the run."""
        self._left = MAX_FORKS
        self._most = most
        self.looked_at = 0
        """Ways that were looked at so far."""
        self._is_cut = False
        """Whether ways were given up because there were too many."""
        self.has_open = False
        """Whether ways were given up because nobody can say how they go on."""
        self._all: list[tuple[PossibleRun, int]] | None = None
        """All ways, and how many calls were made in each, when the first were given up, or the program was done."""
        self._is_whole = True
        """Whether none was given up before the program was done."""
        self._row_classes = _row_classes(document)

    def called(
        self,
        effect: str,
        arguments: Mapping[str, Value],
        schemas: Collection[str] | None = None,
    ) -> None:
        """The program is about to make this call; an argument that is left to its default is not given.

        `schemas`: the row classes that it is given, which are no values; None when nobody looked.
        """
        if self._waits:
            raise DifferenceError(f"{effect} is about to be called before the last call returned")
        self._over = []
        before = [(way, len(way.steps)) for way in self._ways]
        fits: list[PossibleRun] = []
        told: list[str] = []
        others = 0
        for way in self._reached(told):
            found = self._fitting(way, effect, arguments, schemas, told)
            fits += found[: MAX_WAYS - len(fits)]
            others += bool(fits)
            if len(fits) >= MAX_WAYS or others > MAX_OTHERS:
                self._is_cut = True
                break
        self._ways = fits
        self._remember(before)
        if not fits:
            raise self._parted(told)
        for way in fits:
            way.called(arguments)
        self._left = max(self._left, 0) + FORKS_A_CALL
        self._waits = True

    def returned(self, value: Value) -> None:
        """The call returned this; it must be what the document says that the call promises, for proofs rest on it."""
        if not self._waits:
            raise DifferenceError("something returned, and nothing was called")
        self._waits = False
        told: list[str] = []
        ways: list[PossibleRun] = []
        for way in self._ways:
            if way.fails:
                told.append("a call returned that should fail")
                continue
            try:
                way.returned(value)
            except TermError as error:
                raise DifferenceError(str(error)) from None
            except UnspecifiedError as error:
                told.append(str(error))
                self.has_open = True
                continue
            ways.append(way)
        returned = [(way, len(way.steps)) for way in ways]
        kept: list[PossibleRun] = []
        broken_some = False
        for way in self._branched(ways, PossibleRun.deciding_promises, told):
            try:
                broken = way.broken_promise()
            except UnspecifiedError as error:
                told.append(str(error))
                self.has_open = True
                continue
            if broken is None:
                kept.append(way)
            else:
                broken_some = True
                told.append(f"{broken.call} returned what it promised not to: {broken.text}")
        self._ways = kept
        self._remember(returned)
        if not kept:
            raise BrokenPromiseError(_first(told)) if broken_some else self._parted(told)

    def failed(self) -> bool:
        """The call raised: whether the document says how the program goes on. If not, the run is over.

        Where unknowns decide which call it was, both may be: then `may_be_over`, and what the program does next tells.
        """
        if not self._waits:
            raise DifferenceError("something failed, and nothing was called")
        ways = [way for way in self._ways if way.fails]
        if not ways:
            return False
        self._waits = False
        # At a place where it is said how it goes on, the other way is that the call does not fail.
        handled = {_place(way) for way in ways}
        self._over = [way for way in self._ways if not way.fails and _place(way) not in handled]
        for way in ways:
            way.failed()
        self._ways = ways
        return True

    @property
    def may_be_over(self) -> bool:
        """Whether the call that raised last may have been one after which the document says nothing."""
        return bool(self._over)

    @property
    def traces(self) -> list[Trace]:
        """What happened so far, in each way that the run may go."""
        return [way.trace for way in (*self._ways, *self._over)]

    @property
    def made(self) -> list[frozenset[str]]:
        """The atoms whose calls were made for certain, in each way that the run may go: also if that was given up."""
        ways = self._all or [(way, len(way.steps)) for way in self._ways]
        made = [{step.atom.id for step in way.steps[:calls]} for way, calls in ways]
        if self._all is None and self._waits:
            for way, calls in zip(self._ways, made, strict=True):
                if way.pending is not None:
                    calls.add(way.pending.atom.id)
        if self._all is None:
            made += [
                {step.atom.id for step in (*way.steps, way.pending) if step is not None}
                for way in self._over
            ]
        return list(map(frozenset, made))

    @property
    def certain_traces(self) -> list[Trace]:
        """What happened so far, in each way that the run may go; none where it may be one that was given up."""
        if not self._is_whole:
            return []
        return self.traces if self._all is None else [way.trace for way, _ in self._all]

    def ended(self) -> list[Trace]:
        """The program is done: runs of the document that it may have been, one that keeps its guarantees if any does.

        One such is enough, and there may be thousands; they are not all looked for.
        """
        if self._waits:
            raise DifferenceError("the program ended before the last call returned")
        self._over = []
        # Of those that fit, not all are looked for.
        self._all = self._all or [(way, len(way.steps)) for way in self._ways]
        told: list[str] = []
        found: list[PossibleRun] = []
        for way in self._reached(told):
            if way.pending is None and not way.keeps_facts():
                told.append("the program ended with what the document says can't be")
            elif way.pending is None:
                found.append(way)
                if way.unkept() is None or len(found) > MAX_OTHERS:
                    break
            else:
                told.append(f"the program ended, where {way.pending.atom.effect} should be called")
        self._ways = found
        if not found:
            raise self._parted(told)
        return [way.trace for way in found]

    def unkept(self) -> UnkeptGuarantee | None:
        """The guarantee that the run does not keep, whichever way it goes.

        To be asked after `called`: with the call that is about to be made. Or after `ended`.
        """
        found = [way.unkept() for way in self._ways]
        # The run is one of these; one that keeps everything is enough.
        return found[0] if all(found) else None

    def _reached(self, told: list[str]) -> Iterator[PossibleRun]:
        """Each way at its next call or its end; of those that can't be followed, why."""
        return self._branched(self._ways, PossibleRun.advance, told)

    def _branched(
        self,
        ways: Iterable[PossibleRun],
        branch: Callable[[PossibleRun], list[PossibleRun] | None],
        told: list[str],
    ) -> Iterator[PossibleRun]:
        """Each way that branches no more; of those that can't be followed, why."""
        todo = deque(ways)
        left = min(MAX_FORKS, self._left)
        if self._most is not None:
            left = min(left, self._most - self.looked_at)
        while todo:
            way = todo.popleft()
            try:
                forks = branch(way)
            except UnspecifiedError as error:
                told.append(f"what comes next is left open: {error}")
                self.has_open = True
                continue
            if forks is None:
                yield way
                continue
            left -= len(forks)
            self._left -= len(forks)
            self.looked_at += len(forks)
            if left < 0:
                told.insert(0, "declared unknowns leave too many ways to follow")
                self._is_cut = True
                return
            todo.extend(forks)

    def _remember(self, ways: list[tuple[PossibleRun, int]]) -> None:
        """All ways, before some of them are given up for the first time."""
        if self._all is None and (self._is_cut or self.has_open):
            self._all, self._is_whole = ways, False

    def _parted(self, told: list[str]) -> DifferenceError:
        """That no way fits; where not all were followed, the right one may be among the others."""
        return (TooManyWaysError if self._is_cut else DifferenceError)(_first(told))

    def _fitting(
        self,
        way: PossibleRun,
        effect: str,
        arguments: Mapping[str, Value],
        schemas: Collection[str] | None,
        told: list[str],
    ) -> list[PossibleRun]:
        """The ways in which this one makes that call."""
        call = way.pending
        if call is None:
            told.append(f"{effect} is about to be called, and nothing should be")
            return []
        if call.atom.effect != effect or call.arguments.keys() != arguments.keys():
            told.append(f"{effect} is about to be called, where {call.atom.effect} should be")
            return []
        row_class = self._row_classes.get(call.atom.id)
        if schemas is not None and row_class is not None and set(schemas) != {row_class}:
            told.append(f"{effect} is about to be called for other rows than {row_class}")
            return []
        ways = [way]
        for name, value in arguments.items():
            fits = (fit for each in ways for fit in each.given(name, value))
            ways = list(islice(fits, MAX_WAYS))
            self._is_cut |= next(fits, None) is not None
            if not ways:
                told.append(f"{name} of {effect} is not what it should be")
                return []
        kept = [fit for fit in ways if fit.keeps_facts()]
        if not kept:
            told.append(f"{effect} is about to be called with what the document says can't be")
        return kept


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A call that a program made."""

    effect: str
    arguments: Mapping[str, Value]
    """Without those that it left to their defaults."""
    result: Value | Open = NOT_RETURNED
    fails: bool = False
    """It raised. Where its document does not say how the program goes on, this was the end."""


def follows(
    document: Document,
    inputs: Mapping[str, Value],
    calls: Iterable[ObservedCall],
    *,
    ended: bool,
) -> str | None:
    """How what a program did differs from what its document says; None when it does not.

    `ended`: it came to its end. If it did not (a call failed, an unknown raised), it may have been about to do more.
    """
    try:
        following = Following(document, inputs)
        for call in calls:
            following.called(call.effect, call.arguments)
            if call.fails and not following.failed():
                break
            if not isinstance(call.result, Open):
                following.returned(call.result)
        if ended:
            following.ended()
    except DifferenceError as difference:
        return str(difference)
    return None


def _row_classes(document: Document) -> dict[str, str]:
    """The row class that a call must be given, where the document reads what it returns as rows."""
    generic = {effect.name for effect in document.effects if _item(effect.result) == ANY}
    calls = {atom.id for atom in document.atoms if atom.effect in generic}
    found: dict[str, str] = {}
    for read in results(*document_terms(document)) if calls else ():
        row = _item(read.type)
        if read.call in calls and isinstance(row, RowOf):
            found[read.call] = row.schema
    return found


def _item(type_: Type) -> Type:
    while isinstance(type_, ListOf):
        type_ = type_.item
    return type_


def _place(way: PossibleRun) -> Span | None:
    """Where the program makes the call that is pending."""
    assert way.pending is not None, "a call is pending"
    return way.pending.atom.span


def _first(told: list[str]) -> str:
    if not told:
        return "what happens contradicts what happened before"
    others = "" if len(told) == 1 else f"; nor does any of {len(told) - 1} other ways fit"
    return told[0] + others
