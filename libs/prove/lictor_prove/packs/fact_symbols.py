"""What a rule can ask, each as a symbol: a term for the solver and its value for people.

Facts, what an event says beside them, the runtime a pack may ask for, what is remembered of the past, and how often a
rule matched before. Equal questions are one symbol.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, get_args

from lictor_policy.conditions.evidence_requirements import named_fact
from lictor_policy.conditions.facts import FACTS, FactType
from lictor_policy.conditions.moments import CompiledMoment
from lictor_policy.conditions.temporal_conditions import NEVER
from lictor_policy.task.history import (
    Amounts,
    Latest,
    MeasureTotal,
    MemoryKind,
    MomentCount,
    Order,
    PreviousMoment,
    Times,
)
from lictor_policy.task.state import QUALITIES
from lictor_prove.packs.z3_questions import NotExpressible, Term, Z3Terms, spelled, truth, whole
from lictor_schema.core.time import DAY_S, SECOND_US
from lictor_schema.events.payloads import WatchdogFiredPayload

RUNTIME = "task.runtime"
CHANNEL = "task.channel"
WATCHED = "event.condition"
"""What a watch found, of `watchdog_fired`."""
CHILD_FAILED = "event.outcome_is_failure"
"""Whether a child failed, of `subagent_completed`."""
SESSION = "event.session_condition"
"""The condition over the session that the event reports."""
NO_SESSION = "none"
CONDITIONS: tuple[str, ...] = get_args(WatchdogFiredPayload.model_fields["condition"].annotation)
LONGEST = 1 << 50
"""The longest time looked at, in microseconds: 35 years, far beyond what a condition can be compared with."""
_LABEL = 256
"""The most characters of a channel or a runtime."""
_FRESH = {CHANNEL: "operator", RUNTIME: "some-runtime"}
_UNITS = (("d", DAY_S), ("h", 3_600), ("m", 60), ("s", 1))


class Kind(Enum):
    """What the value of a symbol is."""

    FLAG = "flag"
    NUMBER = "number"
    NAMED = "named"
    """One of a few names; the term is the place among them, which for qualities is their rank."""
    TEXT = "text"
    SPAN = "span"
    """A length of time in microseconds; `NEVER` for what never was."""
    GAP = "gap"
    """The same, -1 for what never was."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """One thing that is not known about a task and its event."""

    name: str
    kind: Kind
    term: Term
    usual: Any
    """The value that an example has unless it matters."""
    names: tuple[str, ...] = ()

    def read(self, model: Any) -> Any:
        """The value in a model."""
        match self.kind:
            case Kind.FLAG:
                return truth(model, self.term)
            case Kind.NAMED:
                return self.names[whole(model, self.term)]
            case Kind.TEXT:
                return spelled(model, self.term)
            case _:
                return whole(model, self.term)

    def is_value(self, value: Any, terms: Z3Terms) -> Term:
        """Whether it has the value."""
        match self.kind:
            case Kind.FLAG:
                return self.term if value else terms.denied(self.term)
            case Kind.NAMED:
                if value not in self.names:
                    return terms.false
                return self.term == self.names.index(value)
            case Kind.TEXT:
                return self.term == terms.words(value)
            case _:
                return self.term == value

    def told(self, value: Any) -> Any:
        """The value as people and JSON readers see it."""
        if self.kind is Kind.SPAN:
            return "never" if value == NEVER else _duration(value)
        if self.kind is Kind.GAP:
            return "never" if value < 0 else _duration(value)
        return value


@dataclass(frozen=True, slots=True)
class MemorySymbol:
    """A symbol about the past, and the memory that a state answers it from."""

    symbol: Symbol
    kept: MemoryKind
    span_us: int | None = None
    """The window it looks at, if it looks at one."""

    @property
    def moment(self) -> CompiledMoment | None:
        """The one kind of moment that adds to it, if there is one."""
        kept = self.kept
        return kept.moment if isinstance(kept, MomentCount | Times | Latest) else None


@dataclass(frozen=True, slots=True)
class Literals:
    """The texts that packs compare a channel or a runtime with."""

    named: Mapping[str, tuple[str, ...]]
    within: frozenset[str]
    """The symbols that are also searched for a text, so that the names alone are not enough."""


@dataclass(slots=True)
class Symbols:
    """Every symbol of one question, made when first asked for."""

    terms: Z3Terms
    literals: Literals
    sessions: tuple[str, ...] = ()
    """The conditions over sessions that some rule asks for."""
    by_name: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    bounds: list[Term] = field(default_factory=list[Term])
    """What the values can be at all."""
    past: dict[str, MemorySymbol] = field(default_factory=dict[str, MemorySymbol])
    reaches: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    """By memory: since when it is kept, as a length of time."""
    _usual: list[Term] = field(default_factory=list[Term])
    conditions: dict[int, Term] = field(default_factory=dict[int, Term])
    """The conditions translated before, by the identity of their models."""

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.by_name.values())

    def fact(self, name: str) -> Symbol:
        """A fact, by its name."""
        if name in self.by_name:
            return self.by_name[name]
        if name == CHANNEL:
            return self._text(name)
        fact = named_fact(name)
        if fact is None:
            raise NotExpressible(f"{name} is not known to the analysis yet")
        match fact.type:
            case FactType.BOOL:
                return self._flag(name)
            case FactType.QUALITY:
                return self._named(name, tuple(each.value for each in QUALITIES))
            case FactType.INT:
                return self._count(name)
            case _ if fact.values is not None:
                return self._named(name, fact.values)
            case _:
                raise NotExpressible(f"{name} is a text that is not known to the analysis yet")

    def runtime(self) -> Symbol:
        """The runtime of the task."""
        return self.by_name.get(RUNTIME) or self._text(RUNTIME)

    def watched(self) -> Symbol:
        """What a watch found."""
        return self._named(WATCHED, CONDITIONS)

    def child_failed(self) -> Symbol:
        """Whether the child of the event failed."""
        return self._flag(CHILD_FAILED)

    def session(self) -> Symbol:
        """Which condition over the session the event reports."""
        return self._named(SESSION, (NO_SESSION, *self.sessions))

    def matched_before(self, rule_id: str) -> Symbol:
        """How often a rule matched in the task before."""
        return self._count(f"earlier matches of {rule_id}")

    def remembered(self, label: str, kept: MemoryKind, span_us: int | None) -> Symbol:
        """What a leaf about the past asks, as far as it is one number for all leaves that ask it."""
        match kept:
            case MomentCount() | MeasureTotal():
                symbol = self._count(label)
            case Times() | Amounts():
                symbol = self._count(label)
            case Latest():
                symbol = self._span(label)
            case Order() | PreviousMoment():
                label, span_us = kept.name, None
                symbol = self._gap(label)
            case _:
                raise NotExpressible(f"{label} is not known to the analysis yet")
        self.past.setdefault(symbol.name, MemorySymbol(symbol, kept, span_us))
        return symbol

    def reach(self, kept: MemoryKind) -> Symbol:
        """How far back a memory reaches; `NEVER` when it was kept from the start."""
        if kept.name not in self.reaches:
            self.reaches[kept.name] = self._span(f"time that {kept.name} is kept")
        return self.reaches[kept.name]

    def everything(self) -> None:
        """Make every fact a symbol: an example needs them all."""
        for name in FACTS:
            self.fact(name)
        for make in (self.runtime, self.watched, self.child_failed, self.session):
            make()

    def usual(self) -> list[Term]:
        """Every symbol at its usual value."""
        if len(self._usual) < len(self.by_name):
            self._usual = [each.is_value(each.usual, self.terms) for each in self]
        return self._usual

    def _flag(self, name: str) -> Symbol:
        return self._made(name, Kind.FLAG, self.terms.flag(name), False)

    def _count(self, name: str) -> Symbol:
        term = self.terms.number(name)
        return self._made(name, Kind.NUMBER, term, 0, bounds=[term >= 0])

    def _named(self, name: str, names: tuple[str, ...]) -> Symbol:
        term = self.terms.number(name)
        bounds = [term >= 0, term < len(names)]
        return self._made(name, Kind.NAMED, term, names[0], names, bounds)

    def _span(self, name: str) -> Symbol:
        term = self.terms.number(name)
        some = self.terms.all_of([term >= 0, term <= LONGEST])
        bounds = [self.terms.any_of([some, term == NEVER])]
        return self._made(name, Kind.SPAN, term, NEVER, bounds=bounds)

    def _gap(self, name: str) -> Symbol:
        term = self.terms.number(name)
        return self._made(name, Kind.GAP, term, -1, bounds=[term >= -1, term <= LONGEST])

    def _text(self, name: str) -> Symbol:
        """A text: where packs only name it, its place among the names, else the text itself."""
        named = [each for each in self.literals.named[name] if 1 <= len(each) <= _LABEL]
        other = _FRESH[name]
        while other in named:
            other += "-2"
        if name not in self.literals.within:
            return self._named(name, (other, *named))
        term, length = self.terms.text(name), self.terms.length(self.terms.text(name))
        bounds = [length >= 1, length <= _LABEL]
        return self._made(name, Kind.TEXT, term, other, bounds=bounds)

    def _made(
        self,
        name: str,
        kind: Kind,
        term: Term,
        usual: Any,
        names: tuple[str, ...] = (),
        bounds: Iterable[Term] = (),
    ) -> Symbol:
        if name not in self.by_name:
            self.by_name[name] = Symbol(name, kind, term, usual, names)
            self.bounds += bounds
        return self.by_name[name]


def _duration(micros: int) -> str:
    if micros % SECOND_US:
        return f"{micros / SECOND_US:g}s"
    seconds = micros // SECOND_US
    unit, size = next((each for each in _UNITS if seconds and seconds % each[1] == 0), ("s", 1))
    return f"{seconds // size}{unit}"
