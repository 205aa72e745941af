"""A trace of so many steps whose calls, arguments and events are not known: what a solver fills in.

Each step is a call of one of the effects that matter, or nothing. For each of them there is a row under the condition
that it is this one that is called. Steps stand in order, so what is before what is known.

Origin (`from`, `not_from`, `same_row`) is a property of the terms that a program passes. Here it is a truth value of
its own for each argument, bound only by what holds of all origins; there are more such traces than programs can make,
so nothing is taken to be implied that is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lictor_ir.analysis.contract_parts import Leaf, fluents_of, spoken_of
from lictor_ir.analysis.signature import Signature
from lictor_ir.contracts import FIELD_PREFIX, Relation, field
from lictor_ir.covered_effects import is_covered
from lictor_ir.document import Effect, Event, Fluent
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.provenance import ORIGIN_OPERATORS, origin_columns
from lictor_ir.records import record
from lictor_ir.scalars.expansion import STAND_IN, Expander
from lictor_ir.terms import (
    App,
    Term,
    Var,
    and_,
    implies,
    not_,
    or_,
    rebuild,
    substitute,
    var,
    variables,
)
from lictor_ir.types import BOOL


@dataclass(frozen=True, slots=True)
class TraceRow:
    """Something that may stand in relations: a call, or an event that a call performs."""

    step: int
    kind: str
    is_event: bool
    present: Term
    fields: Mapping[str, Term]


@dataclass(frozen=True, slots=True)
class Change:
    """An update of a fluent that may happen."""

    step: int
    fluent: str
    present: Term
    key: Term
    value: Term


@dataclass(frozen=True, slots=True)
class Origins:
    """The truth values that stand for where arguments come from."""

    single: dict[tuple[str, Term, str], Var]
    """By operator, argument and column."""
    pairs: dict[tuple[Term, Term, str], Var]
    """That two arguments are columns of one row."""


@record()
class SignatureScope:
    """What of a signature matters to some contracts."""

    signature: Signature
    effects: tuple[Effect, ...]
    events: tuple[Event, ...]
    fluents: tuple[Fluent, ...]
    has_other: bool
    """The signature has effects that do not matter by themselves."""

    @classmethod
    def of(cls, signature: Signature, leaves: Iterable[Leaf]) -> SignatureScope:
        """What the leaves read, and the calls through which it may happen."""
        over: list[Relation] = []
        named: set[str] = set()
        for leaf in leaves:
            over += spoken_of(leaf)
            named.update(fluents_of(leaf))
        events = [each for each in signature.events if any(is_covered(each, r) for r in over)]
        wanted = {each.name for each in events}
        effects: list[Effect] = []
        for effect in signature.effects:
            does = signature.behaviour(effect.name)
            if (
                any(effect.name in relation.effects for relation in over)
                or any(each.event in wanted for each in does.events)
                or any(each.fluent in named for each in does.updates)
            ):
                effects.append(effect)
        fluents = [each for each in signature.fluents if each.name in named]
        return cls(
            signature,
            tuple(effects),
            tuple(events),
            tuple(fluents),
            len(effects) < len(signature.effects),
        )


class SymbolicTrace:
    """So many steps, and what is known of them."""

    def __init__(self, scope: SignatureScope, steps: int, slots: int, settings: int) -> None:
        """`slots` and `settings`: events and updates a step at most, where calls may do anything."""
        self.scope = scope
        self.steps = steps
        self.rows: list[TraceRow] = []
        self.changes: list[Change] = []
        self.always: list[Term] = []
        """What holds of every trace."""
        self.expander = Expander(scope.signature.schemas)
        self.origins = Origins({}, {})
        for step in range(steps):
            happens = self._calls(step)
            if scope.signature.is_free:
                self._free(step, happens, slots, settings)

    def _calls(self, step: int) -> Term:
        present: list[Term] = []
        for number, effect in enumerate(self.scope.effects):
            called = var(call_name(step, number), BOOL)
            present.append(called)
            fields: dict[str, Term] = {
                each.name: var(argument_name(step, number, each.name), each.type)
                for each in effect.parameters
            }
            self.rows.append(
                TraceRow(step, effect.name, is_event=False, present=called, fields=fields)
            )
            self._known(step, effect, called, fields)
        if self.scope.has_other and self.scope.signature.is_free:
            present.append(var(call_name(step, None), BOOL))
        self._at_most_one(present)
        return or_(*present)

    def _known(self, step: int, effect: Effect, called: Term, fields: Mapping[str, Term]) -> None:
        given: dict[Term, Term] = {
            field(each.name, each.type): fields[each.name] for each in effect.parameters
        }
        does = self.scope.signature.behaviour(effect.name)
        for event in does.events:
            inside = {name: substitute(term, given) for name, term in event.fields.items()}
            self.rows.append(
                TraceRow(step, event.event, is_event=True, present=called, fields=inside)
            )
        for update in does.updates:
            self.changes.append(
                Change(
                    step,
                    update.fluent,
                    called,
                    substitute(update.key, given),
                    substitute(update.value, given),
                )
            )
        for demand in does.demands:
            try:
                self.always.append(self.expander.expand(implies(called, substitute(demand, given))))
            except (UnsupportedError, TermError):
                continue  # not relying on it is sound

    def _free(self, step: int, happens: Term, slots: int, settings: int) -> None:
        for slot in range(slots if self.scope.events else 0):
            present: list[Term] = []
            for number, event in enumerate(self.scope.events):
                performed = var(event_name(step, slot, number), BOOL)
                present.append(performed)
                fields: dict[str, Term] = {
                    each.name: var(event_field_name(step, slot, number, each.name), each.type)
                    for each in event.fields
                }
                self.rows.append(
                    TraceRow(step, event.name, is_event=True, present=performed, fields=fields)
                )
            self._at_most_one(present)
            self.always.append(implies(or_(*present), happens))
        for number, fluent in enumerate(self.scope.fluents):
            for slot in range(settings):
                changed = var(update_name(step, slot, number), BOOL)
                self.always.append(implies(changed, happens))
                key, value = update_parts(step, slot, number)
                self.changes.append(
                    Change(
                        step,
                        fluent.name,
                        changed,
                        var(key, fluent.key),
                        var(value, fluent.value),
                    )
                )

    def _at_most_one(self, present: Sequence[Term]) -> None:
        self.always += [not_(and_(one, other)) for one, other in combinations(present, 2)]

    # -- reading ---------------------------------------------------------------------------------

    def covered(self, relation: Relation) -> Iterator[tuple[TraceRow, Term]]:
        """The rows of a relation, each with the condition under which it stands there."""
        events = {event.name: event for event in self.scope.events}
        for row in self.rows:
            if row.is_event:
                known = events.get(row.kind)
                if known is None or not is_covered(known, relation):
                    continue
            elif row.kind not in relation.effects:
                continue
            where = self.read(row, relation.where) if relation.where is not None else None
            yield row, row.present if where is None else and_(row.present, where)

    def read(self, row: TraceRow, term: Term) -> Term:
        """A predicate or key about this row, over scalars."""
        return self.expander.expand(self.raw(row, term))

    def raw(self, row: TraceRow, term: Term) -> Term:
        """The same before it is expanded."""
        given: dict[Term, Term] = {}
        for variable in variables(term):
            name = variable.name.removeprefix(FIELD_PREFIX)
            if name not in row.fields or row.fields[name].type != variable.type:
                raise UnsupportedError(f"{row.kind} has no field {name!r} of type {variable.type}")
            given[variable] = row.fields[name]
        try:
            return rebuild(substitute(term, given), self._origin)
        except TermError as error:
            raise UnsupportedError(str(error)) from None

    # -- origin ----------------------------------------------------------------------------------

    def _origin(self, part: Term) -> Term | None:
        if not (isinstance(part, App) and part.op in ORIGIN_OPERATORS):
            return None
        columns = [f"{schema}.{name}" for schema, name in origin_columns(part.param)]
        placed = list(zip(part.args, columns, strict=True))
        if part.op == "not_from":
            return and_(*(self._of("not_from", arg, column) for arg, column in placed))
        told = [self._of("from", arg, column) for arg, column in placed]
        if part.op == "same_row":
            told += [self._together(one, other) for one, other in combinations(placed, 2)]
        return and_(*told)

    def _of(self, op: str, arg: Term, column: str) -> Term:
        known = self.origins.single.get((op, arg, column))
        if known is None:
            known = var(f"{STAND_IN}{op}{len(self.origins.single)}", BOOL)
            self.origins.single[op, arg, column] = known
            opposite = self.origins.single.get(
                ("not_from" if op == "from" else "from", arg, column)
            )
            if opposite is not None:
                # What is a column of a returned row has that column in it.
                self.always.append(not_(and_(known, opposite)))
        return known

    def _together(self, one: tuple[Term, str], other: tuple[Term, str]) -> Term:
        first, second = sorted((one, other), key=lambda each: (each[1], repr(each[0])))
        key = (first[0], second[0], f"{first[1]} {second[1]}")
        if key not in self.origins.pairs:
            self.origins.pairs[key] = var(f"{STAND_IN}same_row{len(self.origins.pairs)}", BOOL)
        return self.origins.pairs[key]


# -- names: what a model is read back by --------------------------------------------------------------


def call_name(step: int, effect: int | None) -> str:
    """The variable that says that this step calls the effect of that number; None for one that does not matter."""
    return f"step{step} calls {'another' if effect is None else effect}"


def argument_name(step: int, effect: int, parameter: str) -> str:
    """The variable of an argument."""
    return f"step{step}_call{effect}_{parameter}"


def event_name(step: int, slot: int, event: int) -> str:
    """The variable that says that this step performs the event."""
    return f"step{step} performs {slot} {event}"


def event_field_name(step: int, slot: int, event: int, name: str) -> str:
    """The variable of an event's field."""
    return f"step{step}_slot{slot}_event{event}_{name}"


def update_name(step: int, slot: int, fluent: int) -> str:
    """The variable that says that this step sets the fluent."""
    return f"step{step} sets {slot} {fluent}"


def update_parts(step: int, slot: int, fluent: int) -> tuple[str, str]:
    """The variables of what it sets: key and value."""
    return f"step{step}_key{slot}_fluent{fluent}", f"step{step}_value{slot}_fluent{fluent}"
