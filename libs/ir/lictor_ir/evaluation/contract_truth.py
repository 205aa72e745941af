"""Whether a contract holds of one concrete run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from lictor_ir.contracts import KEY_NAME, VALUE_NAME, Anything, AtEnd, Both, Contract
from lictor_ir.document import Fluent
from lictor_ir.errors import UnknownError, UnspecifiedError, UntriedError
from lictor_ir.evaluation.contract_readings import heavier, reading
from lictor_ir.evaluation.steps import Trace
from lictor_ir.evaluation.term_values import Environment, Evaluation, same, value
from lictor_ir.terms import App, Const, Term, Var, children, postorder
from lictor_ir.types import BOOL, INT, STR, Type
from lictor_ir.values import Open, Value


def holds(contract: Contract, trace: Trace) -> bool:
    """Whether the contract holds of the run, taken as complete; UnspecifiedError when that is left open.

    UnknownError when it rests on what the document declares unknown, UntriedError when only on keys that nobody set.
    """
    match contract:
        case Anything():
            return True
        case Both(parts):
            return every(lambda part=part: holds(part, trace) for part in parts)
        case AtEnd():
            return _holds_at_end(contract, trace)
        case _:
            read = reading(contract, trace.document)
            for step in trace.steps:
                read.add(step, Evaluation(trace.at(step), trace.facts))
            return read.holds()


def every(checks: Iterable[Callable[[], bool]]) -> bool:
    """Whether all of them hold: one that does not decides it, whatever is left open of the others."""
    left: UnspecifiedError | None = None
    for check in checks:
        try:
            if not check():
                return False
        except UnspecifiedError as error:
            left = heavier(left, error)
    if left is not None:
        raise left
    return True


# -- fluents ---------------------------------------------------------------------------------------


def _holds_at_end(contract: AtEnd, trace: Trace) -> bool:
    fluent = next(each for each in trace.document.fluents if each.name == contract.fluent)
    initial = value(fluent.initial, Environment())
    state = _final_state(fluent, trace, initial)
    if contract.key is not None:
        asked = value(contract.key, Environment())
        return all(
            _holds_of(contract.holds, asked, found) for found in _looked_up(state, asked, initial)
        )
    if not all(_holds_of(contract.holds, key, each) for key, found in state for each in found):
        return False
    return _holds_of_other_keys(contract.holds, fluent.key, state, initial)


_State = list[tuple[Value, list[Value]]]
"""What each key that a call set may have in the end: a call that failed may have set it, or not."""


def _final_state(fluent: Fluent, trace: Trace, initial: Value) -> _State:
    state: _State = []
    for step in trace.steps:
        for name, key, found in step.updates:
            if name == fluent.name:
                if isinstance(key, Open):
                    raise UnknownError(key.why)
                before = [] if step.is_certain else _looked_up(state, key, initial)
                state = [entry for entry in state if not same(entry[0], key)]
                state.append((key, [*before, found]))
    return state


def _looked_up(state: _State, asked: Value, initial: Value) -> list[Value]:
    return next((found for key, found in state if same(key, asked)), [initial])


def _holds_of(predicate: Term, key: Value, found: Value) -> bool:
    return Evaluation(Environment({KEY_NAME: key, VALUE_NAME: found})).holds(predicate)


def _holds_of_other_keys(predicate: Term, type_: Type, state: _State, initial: Value) -> bool:
    """Whether the predicate holds of every key that nobody set.

    There may be infinitely many. Those that the predicate names are tried, and one that it does not; when it only asks
    whether the key is one of those it names, all others are alike.
    """
    for key in _tried_keys(predicate, type_, state):
        taken = any(same(key, other) for other, _ in state)
        if not taken and not _holds_of(predicate, key, initial):
            return False
    if type_ != BOOL and not _only_compares_keys(predicate):
        raise UntriedError("the predicate does more with keys than comparing them")
    return True


def _tried_keys(predicate: Term, type_: Type, state: _State) -> Iterator[Value]:
    if type_ == BOOL:
        yield from (True, False)
        return
    named = [part.value for part in postorder(predicate) if isinstance(part, Const)]
    yield from (key for each in named for key in _keys(each, type_))
    yield _fresh(type_, [*named, *(key for key, _ in state)])


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
    raise UntriedError(f"keys of type {type_} can't be made up")


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
