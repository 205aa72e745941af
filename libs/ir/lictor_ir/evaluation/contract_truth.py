"""Whether a contract holds of one concrete run: the contract algebra, written as plainly as it can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import eq, ge, gt, le, lt
from typing import Any, Final

from lictor_ir.contracts import (
    KEY_NAME,
    VALUE_NAME,
    All,
    Anything,
    AtEnd,
    Before,
    Both,
    Comparison,
    Contract,
    Count,
    Distinct,
    Empty,
    NeverAfter,
    Relation,
    SharesValue,
    Sum,
)
from lictor_ir.covered_effects import bindings, is_covered, shared_fields
from lictor_ir.document import Event, Fluent
from lictor_ir.errors import UnspecifiedError
from lictor_ir.evaluation.term_values import Environment, Evaluation, same, value
from lictor_ir.evaluation.traces import Step, Trace
from lictor_ir.provenance import ORIGIN_OPERATORS, origin_formula
from lictor_ir.terms import App, Const, Term, Var, children, const, postorder, rebuild, substitute
from lictor_ir.types import BOOL, INT, STR, Type
from lictor_ir.values import Value

_COMPARE: Final[Mapping[Comparison, Callable[[Any, Any], bool]]] = {
    Comparison.AT_MOST: le,
    Comparison.LESS: lt,
    Comparison.AT_LEAST: ge,
    Comparison.MORE: gt,
    Comparison.EXACTLY: eq,
}


def holds(contract: Contract, trace: Trace) -> bool:
    """Whether the contract holds of the run, taken as complete; UnspecifiedError when that is left open."""
    match contract:
        case Anything():
            return True
        case Both(parts):
            return all(holds(part, trace) for part in parts)
        case All(relation, predicate):
            return all(row.holds(predicate) for row in _rows(relation, trace))
        case Empty(relation):
            return not list(_rows(relation, trace))
        case Distinct(relation, key):
            keys = [row.value(key) for row in _rows(relation, trace)]
            return not any(same(one, other) for at, one in enumerate(keys) for other in keys[:at])
        case Count(relation, comparison, bound):
            return _compared(len(list(_rows(relation, trace))), comparison, bound)
        case Sum(relation, of, comparison, bound):
            total: Any = 0
            for row in _rows(relation, trace):
                total = total + row.value(of)
            return _compared(total, comparison, bound)
        case SharesValue(left, right, key):
            others = [row.value(key) for row in _rows(right, trace)]
            return any(
                same(row.value(key), other) for row in _rows(left, trace) for other in others
            )
        case Before():
            return _holds_before(contract, trace)
        case NeverAfter(first, then):
            begun = min((row.step.number for row in _rows(first, trace)), default=None)
            return begun is None or all(row.step.number <= begun for row in _rows(then, trace))
        case AtEnd():
            return _holds_at_end(contract, trace)


def _compared(amount: Any, comparison: Comparison, bound: Term) -> bool:
    limit: Any = value(bound, Environment())
    return _COMPARE[comparison](amount, limit)


def _holds_before(contract: Before, trace: Trace) -> bool:
    earlier = list(_rows(contract.first, trace))
    return all(
        any(
            first.step.number < then.step.number
            and (
                contract.first_key is None
                or contract.then_key is None
                or same(first.value(contract.first_key), then.value(contract.then_key))
            )
            for first in earlier
        )
        for then in _rows(contract.then, trace)
    )


# -- rows of relations -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """One time that an effect stands in a relation."""

    step: Step
    terms: Mapping[Term, Term]
    """What the atom passes for each field."""
    inside: Evaluation
    """Values of the atom's terms."""
    fields: Evaluation
    """Values of predicates."""

    def value(self, term: Term) -> Any:
        return self.fields.value(self._decided(term))

    def holds(self, term: Term) -> bool:
        return self.fields.holds(self._decided(term))

    def _decided(self, term: Term) -> Term:
        """The predicate with its origin operators decided for this atom, in this iteration."""

        def decided(part: Term) -> Term | None:
            if not (isinstance(part, App) and part.op in ORIGIN_OPERATORS):
                return None
            passed = tuple(substitute(arg, self.terms) for arg in part.args)
            return const(self.inside.holds(origin_formula(part.op, part.param, passed)))

        return rebuild(term, decided)


def _rows(relation: Relation, trace: Trace) -> Iterator[_Row]:
    shared = shared_fields(trace.document, relation)
    events = {event.name: event for event in trace.document.events}
    for step in trace.steps:
        inside = Evaluation(trace.at(step))
        for terms, values in _standing(step, relation, events):
            known = {shared[name].name: values[name] for name in values if name in shared}
            row = _Row(step, bindings(terms, shared), inside, Evaluation(Environment(known)))
            if relation.where is None or row.holds(relation.where):
                yield row


def _standing(
    step: Step, relation: Relation, events: Mapping[str, Event]
) -> Iterator[tuple[Mapping[str, Term], Mapping[str, Value]]]:
    """The fields, as terms and as values, for each time that a step stands in a relation."""
    if step.effect in relation.effects:
        yield step.atom.arguments, step.arguments
    for performed, (name, values) in zip(step.atom.events, step.events, strict=True):
        if is_covered(events[name], relation):
            yield performed.fields, values


# -- fluents ---------------------------------------------------------------------------------------


def _holds_at_end(contract: AtEnd, trace: Trace) -> bool:
    fluent = next(each for each in trace.document.fluents if each.name == contract.fluent)
    initial = value(fluent.initial, Environment())
    state = _final_state(fluent, trace)
    if contract.key is not None:
        asked = value(contract.key, Environment())
        return _holds_of(contract.holds, asked, _looked_up(state, asked, initial))
    if not all(_holds_of(contract.holds, key, found) for key, found in state):
        return False
    return _holds_of_other_keys(contract.holds, fluent.key, state, initial)


def _final_state(fluent: Fluent, trace: Trace) -> list[tuple[Value, Value]]:
    state: list[tuple[Value, Value]] = []
    for step in trace.steps:
        for name, key, found in step.updates:
            if name == fluent.name:
                state = [entry for entry in state if not same(entry[0], key)]
                state.append((key, found))
    return state


def _looked_up(state: list[tuple[Value, Value]], asked: Value, initial: Value) -> Value:
    return next((found for key, found in state if same(key, asked)), initial)


def _holds_of(predicate: Term, key: Value, found: Value) -> bool:
    return Evaluation(Environment({KEY_NAME: key, VALUE_NAME: found})).holds(predicate)


def _holds_of_other_keys(
    predicate: Term, type_: Type, state: list[tuple[Value, Value]], initial: Value
) -> bool:
    """Whether the predicate holds of every key that nobody set.

    There may be infinitely many. Those that the predicate names are tried, and one that it does not; when it only asks
    whether the key is one of those it names, all others are alike.
    """
    named = [part.value for part in postorder(predicate) if isinstance(part, Const)]
    unset = [
        *(key for each in named for key in _keys(each, type_)),
        _fresh(type_, [*named, *(key for key, _ in state)]),
    ]
    unset = [True, False] if type_ == BOOL else unset
    for key in unset:
        taken = any(same(key, other) for other, _ in state)
        if not taken and not _holds_of(predicate, key, initial):
            return False
    if type_ != BOOL and not _only_compares_keys(predicate):
        raise UnspecifiedError("the predicate does more with keys than comparing them")
    return True


def _keys(found: object, type_: Type) -> list[Value]:
    """The keys that equal a constant."""
    if type_ == STR and isinstance(found, str):
        return [found]
    if type_ == INT and isinstance(found, int | float | Fraction) and _is_whole(found):
        return [int(found)]
    return []


def _is_whole(number: int | float | Fraction) -> bool:
    return number.is_integer() if isinstance(number, float) else number == int(number)


def _fresh(type_: Type, taken: list[Any]) -> Value:
    if type_ == STR:
        longest = max((len(each) for each in taken if isinstance(each, str)), default=0)
        return "~" * (longest + 1)
    if type_ == INT:
        return 1 + sum(abs(each) + 1 for each in taken if isinstance(each, int))
    if type_ == BOOL:
        return False
    raise UnspecifiedError(f"keys of type {type_} can't be made up")


def _only_compares_keys(predicate: Term) -> bool:
    """Whether the key is only asked to equal constants, or to be among them."""
    for part in postorder(predicate):
        for at, arg in enumerate(children(part)):
            if not (isinstance(arg, Var) and arg.name == KEY_NAME):
                continue
            compared = isinstance(part, App) and (part.op == "eq" or (part.op == "in" and at == 0))
            others = [*children(part)[:at], *children(part)[at + 1 :]]
            if not compared or not all(map(_is_constant, others)):
                return False
    return True


def _is_constant(term: Term) -> bool:
    """Whether the term is written out, so that the keys it names were tried."""
    if isinstance(term, App) and term.op in ("list", "tuple", "set"):
        return all(isinstance(arg, Const) for arg in term.args)
    return isinstance(term, Const)
