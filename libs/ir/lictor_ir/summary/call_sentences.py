"""What a program may do, in sentences: each call with when it happens, how often, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lictor_ir.contracts import Comparison, Contract, Count, Empty, Relation, leaves
from lictor_ir.document import (
    Assumption,
    Atom,
    Binder,
    Document,
    Effect,
    Obligation,
    ObligationKind,
    Parameter,
    Unknown,
)
from lictor_ir.summary import display
from lictor_ir.summary.term_words import TermWords
from lictor_ir.terms import FALSE, TRUE, App, Const, Term
from lictor_ir.types import ListOf

_MOST_TIMES = 10**12
"""Loops that surely run more often than this are as good as endless to a reader."""
_MAX_TYPE = 120


class CallSentences:
    """Tells the program of a document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._effects = {effect.name: effect for effect in document.effects}
        self._events = {event.name: event for event in document.events}
        self._effect_of = {atom.id: atom.effect for atom in document.atoms}
        stated = [*document.atoms, *document.assumptions, *document.obligations]
        looped = [*stated, *document.unknowns]
        self._words = TermWords(
            [
                *(term for each in stated for term in _terms(each)),
                *(each.over for unknown in document.unknowns for each in unknown.binders),
            ],
            calls={
                atom.id: (atom.effect, self._effects[atom.effect].result) for atom in document.atoms
            },
            loops={binder.index: binder.over for each in looped for binder in each.binders},
            unknowns=frozenset(each.id for each in document.unknowns),
        )

    def unknown(self, unknown: Unknown) -> str:
        """One value that nobody models."""
        text = (
            f"unknown {display.name(unknown.id)}, any {display.exact(str(unknown.type), _MAX_TYPE)}"
        )
        for binder in unknown.binders:
            text += f", {self._loop(binder)}"
        flowing = sorted({*unknown.labels, *unknown.carried})
        made_of = ", ".join(map(display.name, flowing)) or "nothing that is named"
        text += f"; made of {made_of}"
        if unknown.may_raise:
            text += "; computing it may raise, and then the run ends there"
        return text + (f": {display.string(unknown.text)}" if unknown.text else "")

    def call(self, atom: Atom) -> str:
        """One guarded call."""
        parameters = self._effects[atom.effect].parameters
        given = self._given(atom.arguments, parameters, "left to its default")
        text = f"{display.name(atom.id)}: {self._when(atom)}{display.name(atom.effect)}({given})"
        for performed in atom.events:
            event = self._events[performed.event]
            kinds = ", ".join(f"a {display.name(kind)}" for kind in event.kinds[1:])
            fields = self._given(performed.fields, event.fields, "not known")
            named = f"{display.name(event.name)} ({kinds})" if kinds else display.name(event.name)
            text += f"; performs event {named} with ({fields})"
        for update in atom.updates:
            key, value = map(self._words.text, (update.key, update.value))
            text += f"; sets state {display.name(update.fluent)}[{key}] to {value}"
        if atom.fails:
            text += "; this call fails, whether or not it had its effect, and the program goes on"
        return text

    def promised(self, assumption: Assumption) -> str:
        """What a trusted call promises about its result."""
        formula = self._words.statement(assumption.formula)
        return f"{self._when(assumption)}{self._of(assumption.call)} promises: {formula}"

    def demanded(self, obligation: Obligation) -> str:
        """What must hold, or the program or a call stops."""
        of = f" of {self._of(obligation.call)}" if obligation.call is not None else ""
        what = {
            ObligationKind.PRECONDITION: "demand",
            ObligationKind.NO_ERROR: "no error",
            ObligationKind.ASSERTION: "assertion",
        }[obligation.kind]
        if obligation.formula is FALSE:
            return f"{what}{of}: {self._when(obligation)}this is never reached"
        return f"{what}{of}: {self._when(obligation)}{self._words.statement(obligation.formula)}"

    def how_often(self, *, is_proved: bool) -> Iterator[tuple[str, str]]:
        """For each kind of call: its name, and how often the program's structure and its guarantees let it happen."""
        for name, (least, most) in call_counts(self._document).items():
            often = _often(least, most)
            limit = _limit(self._document, name)
            if limit is not None and (most is None or limit.most < most):
                often = limit.told(often, least, is_proved=is_proved)
            yield name, f"{_introduced(self._effects[name])}: {often}"

    def _of(self, call: str) -> str:
        return f"{display.name(self._effect_of[call])} ({display.name(call)})"

    def _when(self, stated: Atom | Assumption | Obligation) -> str:
        parts = [*map(self._loop, stated.binders)]
        if stated.guard is not TRUE:
            parts.append(f"if {self._words.statement(stated.guard)}")
        return f"{', '.join(parts)}: " if parts else ""

    def _loop(self, binder: Binder) -> str:
        index, over = display.name(binder.index.name), self._words.operand(binder.over)
        if isinstance(binder.over.type, ListOf):
            return f"for each item {index} of {over}"
        return f"for each index {index} from 0 to below {over}"

    def _given(self, terms: Mapping[str, Term], declared: Sequence[Parameter], missing: str) -> str:
        return ", ".join(
            f"{display.name(each.name)} = {self._words.text(terms[each.name])}"
            if each.name in terms
            else f"{display.name(each.name)} {missing}"
            for each in declared
        )


def call_counts(document: Document) -> dict[str, tuple[int, int | None]]:
    """For each kind of call, in order: how often at least in a run that completes, how often at most in any run."""
    found: dict[str, tuple[int, int | None]] = {}
    for atom in document.atoms:
        least, most = found.get(atom.effect, (0, 0))
        fewest, often = _times(atom)
        found[atom.effect] = (
            least + fewest,
            None if most is None or often is None else most + often,
        )
    return found


@dataclass(frozen=True, slots=True)
class _Limit:
    """How often a guarantee lets a call happen."""

    most: int
    guarantee: str
    exactly: bool = False

    def told(self, otherwise: str, least: int, *, is_proved: bool) -> str:
        by = display.string(self.guarantee)
        if self.exactly:
            often = f"{_often(self.most, self.most)} if the run completes"
        else:
            often = _often(min(least, self.most), self.most)
        return f"{often}, by {by}" if is_proved else f"{otherwise}; if {by} is proved, {often}"


def _limit(document: Document, effect: str) -> _Limit | None:
    """The least that a guarantee lets all calls of an effect come to."""
    found = [
        _Limit(most, each.name, exactly)
        for each in document.guarantees
        for part in leaves(each.contract)
        for most, exactly in _most(part, effect)
    ]
    return min(found, key=lambda limit: (limit.most, limit.exactly), default=None)


def _most(part: Contract, effect: str) -> Iterator[tuple[int, bool]]:
    match part:
        case Empty(Relation(where=None, effects=effects)) if effect in effects:
            yield 0, False
        case Count(
            Relation(where=None, effects=effects, events=events),
            comparison,
            Const(value=int(bound)),
        ) if effect in effects:
            if comparison in (Comparison.AT_MOST, Comparison.EXACTLY):
                # Counted together with others, there may be any number of these up to the bound.
                alone = effects == (effect,) and not events
                yield max(bound, 0), comparison is Comparison.EXACTLY and alone
            elif comparison is Comparison.LESS:
                yield max(bound - 1, 0), False
        case _:
            pass


def _terms(stated: Atom | Assumption | Obligation) -> Iterator[Term]:
    for binder in stated.binders:
        yield from (binder.over, binder.index)
    yield stated.guard
    if isinstance(stated, Atom):
        yield from (stated.arguments[name] for name in sorted(stated.arguments))
        for performed in stated.events:
            yield from (performed.fields[name] for name in sorted(performed.fields))
        for update in stated.updates:
            yield from (update.key, update.value)
    else:
        yield stated.formula


def _introduced(effect: Effect) -> str:
    told = [display.string(effect.module)] if effect.module else []
    if effect.markers:
        told.append(f"marked {display.listed([*map(display.string, effect.markers)], 80)}")
    return display.name(effect.name) + (f" (of {', '.join(told)})" if told else "")


def _times(atom: Atom) -> tuple[int, int | None]:
    """How often one call happens, at least and at most; None for no limit."""
    if atom.guard is FALSE:
        return 0, 0
    most: int | None = 1
    for binder in atom.binders:
        rounds = _rounds(binder.over)
        if rounds == 0:
            return 0, 0
        most = None if most is None or rounds is None else most * rounds
    if most is not None and most > _MOST_TIMES:
        most = None
    return (most if atom.guard is TRUE and most is not None else 0), most


def _rounds(over: Term) -> int | None:
    if isinstance(over, Const) and isinstance(over.value, int):
        return max(over.value, 0)
    if isinstance(over, App) and over.op == "list":
        return len(over.args)
    return None


def _often(least: int, most: int | None) -> str:
    if most is None:
        return f"{_counted(least)} or more" if least else "any number of times"
    if least == most:
        return "never" if not most else _counted(most)
    return f"at most {_counted(most)}" + (f", at least {_counted(least)}" if least else "")


def _counted(times: int) -> str:
    return "once" if times == 1 else f"{times} times"
