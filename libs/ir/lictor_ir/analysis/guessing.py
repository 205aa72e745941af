"""Values tried before a solver is asked: what breaks a contract is often one of the constants that stand in it.

A guess that fails says nothing. One that succeeds is a model like any other, and is confirmed like one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Final

from lictor_ir.analysis.symbolic import SymbolicTrace, call_name
from lictor_ir.answers import Model, Read
from lictor_ir.errors import IrError
from lictor_ir.goals.model import Goal
from lictor_ir.places import place, solver_order
from lictor_ir.terms import App, Const, Term, Var
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, Type
from lictor_ir.valuation import Environment, Evaluation
from lictor_ir.values import EnumValue, Value

TRIES: Final = 24
MOST_VARIABLES: Final = 40
FRESH: Final = "~"
"""A text that contracts seldom name."""


def guessed(goal: Goal, trace: SymbolicTrace) -> Model | None:
    """Values under which the goal's formula holds, if a few tries find some."""
    formulas = (goal.refute, *goal.given)
    found: list[Var] = []
    constants: dict[Type, dict[_Known, None]] = {}
    for term in solver_order(*formulas):
        if isinstance(term, Const):
            if not isinstance(term.value, bool):
                constants.setdefault(term.type, {})[term.value] = None
        elif place(term) is not None:
            if not isinstance(term, Var) or term.type not in (BOOL, INT, REAL, FLOAT, STR):
                return None
            found.append(term)
    if len(found) > MOST_VARIABLES:
        return None
    choices: dict[Type, list[Value]] = {
        type_: _around(type_, list(constants.get(type_, ()))) for type_ in _TYPES
    }
    calls = _calls(trace)
    own = {name for options in calls for name in options}
    others = [(each, choices[each.type]) for each in found if each.name not in own]
    for number in range(TRIES):
        chance = Random(number)
        values = _called(calls, number)
        for each, known in others:
            values[each.name] = chance.choice(known)
        if _hold(formulas, values):
            return Model(tuple(Read(name, False, (), (), value) for name, value in values.items()))
    return None


_Known = bool | int | float | str | Fraction | EnumValue | None
_TYPES: Final = (BOOL, INT, REAL, FLOAT, STR)


def _calls(trace: SymbolicTrace) -> list[list[str]]:
    """For each step, the variables of which one is true; a call that does not matter comes last."""
    known: list[int | None] = [*range(len(trace.scope.effects))]
    if trace.scope.has_other and trace.scope.signature.is_free:
        known.append(None)
    return [[call_name(step, number) for number in known] for step in range(trace.steps)]


def _called(calls: Sequence[Sequence[str]], number: int) -> dict[str, Value]:
    """Every step calls the same effect in the first rounds, then they take turns."""
    values: dict[str, Value] = {}
    for step, options in enumerate(calls):
        turn = number if number < 2 * len(options) else number + step
        for at, name in enumerate(options):
            values[name] = at == turn % len(options)
    return values


def _around(type_: Type, constants: Sequence[_Known]) -> list[Value]:
    """Constants, what is next to them, and what is none of them."""
    if type_ == BOOL:
        return [False, True]
    if type_ == STR:
        texts = [each for each in constants if isinstance(each, str)]
        return [FRESH * (1 + max((len(each) for each in texts), default=0)), *texts, ""]
    numbers = [each for each in constants if isinstance(each, int | float | Fraction)]
    near = [each + shift for each in numbers for shift in (1, 0, -1)]
    plain: list[int | float | Fraction] = [*near, 0, 1]
    if type_ == INT:
        return list(
            dict.fromkeys(int(each) for each in plain if each == each and abs(each) < 1e300)
        )
    if type_ == REAL:
        return list(dict.fromkeys(Fraction(each) for each in plain if not isinstance(each, float)))
    return list(dict.fromkeys(float(each) for each in plain))


def _hold(formulas: Sequence[Term], values: Mapping[str, Value]) -> bool:
    try:
        evaluation = Evaluation(Environment(values))
        return all(_is_true(each, evaluation) for each in formulas)
    except (IrError, ArithmeticError, TypeError):
        return False


def _is_true(term: Term, evaluation: Evaluation) -> bool:
    """The same as evaluation says, stopping at the first part that decides; formulas are not deep."""
    if isinstance(term, App) and term.op == "and":
        return all(_is_true(part, evaluation) for part in term.args)
    if isinstance(term, App) and term.op == "or":
        return any(_is_true(part, evaluation) for part in term.args)
    return evaluation.holds(term)
