"""Values tried before a solver is asked: what breaks a contract is often one of the constants that stand in it.

A guess that fails says nothing. One that succeeds is a model like any other, and is confirmed like one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from random import Random
from typing import Final

from lictor_ir.analysis.solver_budget import Budget
from lictor_ir.analysis.trace_variables import SymbolicTrace, call_name
from lictor_ir.errors import IrError
from lictor_ir.evaluation.term_values import Environment, Evaluation
from lictor_ir.goals.goal import Goal
from lictor_ir.places import place, solver_order
from lictor_ir.solver.answers import Read, SolverModel
from lictor_ir.terms import App, Const, Term, Var, variables
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, Type
from lictor_ir.values import EnumValue, Value

MOST_CHANGES: Final = 40
MOST_TRIED: Final = 600
"""How often a formula is evaluated before a solver is asked."""
FEW_TRIED: Final = 150
"""The same, where more than one guess is made."""
MOST_IDLE: Final = 8
"""Changes in a row after which no fewer formulas are broken than before."""
NOISE: Final = 0.1
MOST_VARIABLES: Final = 40
MOST_JOINED: Final = 6
"""Texts that are tried together with each other."""
LONGEST: Final = 5_000
"""Characters of a text that is tried."""
FRESH: Final = "~"
"""A text that contracts seldom name."""


def guessed(
    goal: Goal, trace: SymbolicTrace, budget: Budget, tries: int = MOST_TRIED
) -> SolverModel | None:
    """Values under which the goal's formula holds, if a short walk finds some.

    It starts with plain values, or with what the formulas name, and mends one formula that does not hold after the
    other.
    """
    formulas = list(_conjuncts(goal.refute, *goal.given))
    found: dict[str, Var] = {}
    constants: dict[Type, dict[_Known, None]] = {}
    equal: dict[str, Value] = {}
    for term in solver_order(*formulas):
        if isinstance(term, Const):
            if not isinstance(term.value, bool):
                constants.setdefault(term.type, {})[term.value] = None
        elif place(term) is not None:
            if not isinstance(term, Var) or term.type not in _TYPES:
                return None
            found[term.name] = term
        elif isinstance(term, App) and term.op == "eq":
            read, value = term.args
            if isinstance(read, Var) and isinstance(value, Const) and read.type == value.type:
                equal.setdefault(read.name, value.value)
    if len(found) > MOST_VARIABLES:
        return None
    choices: dict[Type, list[Value]] = {
        type_: _around(type_, list(constants.get(type_, ()))) for type_ in _TYPES
    }
    texts = [each for each in constants.get(STR, ()) if isinstance(each, str)]
    sizes = [each for each in choices[INT] if isinstance(each, int) and 1 < each <= LONGEST]
    choices[STR] += _made_of(texts, sizes)
    # Too many of something is most often too many that are alike, or too large.
    stated = {name: equal.get(name, _largest(choices[each.type])) for name, each in found.items()}
    walk = _Walk(
        formulas, {name: choices[each.type] for name, each in found.items()}, stated, _calls(trace)
    )
    values = walk.end(budget, tries)
    if values is None:
        return None
    return SolverModel(tuple(Read(name, False, (), (), value) for name, value in values.items()))


class _Walk:
    """From plain values to some under which all formulas hold, one value at a time."""

    def __init__(
        self,
        formulas: Sequence[Term],
        choices: Mapping[str, Sequence[Value]],
        stated: Mapping[str, Value],
        calls: Sequence[Sequence[str]],
    ) -> None:
        self._formulas = formulas
        self._choices = choices
        self._calls = {name: options for options in calls for name in options}
        self._read = {each: {read.name for read in variables(each)} for each in formulas}
        self._tried = 0
        made: dict[str, Value] = {}
        for options in calls:
            made.update(dict.fromkeys(options, False))
            made[options[0]] = True
        self._values: dict[str, Value] = {name: known[0] for name, known in choices.items()} | made
        self._evaluation: Evaluation | None = None
        plain, broken = self._values, len(self._broken())
        if broken:
            self._values, self._evaluation = {**stated, **made}, None
            if len(self._broken()) >= broken:
                self._values, self._evaluation = plain, None

    def _broken(self) -> list[Term]:
        return [each for each in self._formulas if not self._truth(each)]

    def end(self, budget: Budget, tries: int) -> Mapping[str, Value] | None:
        """The values, or None when the walk is too long."""
        chance = Random(0)
        fewest, since = len(self._formulas) + 1, 0
        for number in range(MOST_CHANGES):
            broken = self._broken()
            if not broken:
                return self._values
            if len(broken) < fewest:
                fewest, since = len(broken), number
            if budget.is_spent or self._tried > tries or number - since > MOST_IDLE:
                return None
            formula = chance.choice(broken)
            # Now and then without looking, or it goes round in circles.
            if chance.random() < NOISE or not self._mended(formula):
                self._make(formula, chance, wanted=True)
        return None

    def _mended(self, formula: Term) -> bool:
        """Whether a single value makes all of the formula hold, with as little as possible of the others broken.

        Who is called is left as it is.
        """
        best: tuple[int, str, Value] | None = None
        for name in sorted(self._read[formula] - self._calls.keys()):
            before = self._values[name]
            others = [each for each in self._formulas if name in self._read[each]]
            for value in self._choices[name]:
                self._set(name, value)
                if self._truth(formula):
                    broken = sum(not self._truth(each) for each in others)
                    if not broken:
                        return True
                    if best is None or broken < best[0]:
                        best = broken, name, value
            self._set(name, before)
        if best is not None:
            self._set(*best[1:])
        return best is not None

    def _make(self, term: Term, chance: Random, *, wanted: bool) -> None:
        """Change values so that the formula comes out as wanted, whatever that does to others."""
        if isinstance(term, App) and term.op == "not":
            self._make(term.args[0], chance, wanted=not wanted)
        elif isinstance(term, App) and term.op in ("and", "or"):
            everything = (term.op == "and") == wanted
            for part in term.args if everything else [chance.choice(term.args)]:
                self._make(part, chance, wanted=wanted)
        elif self._truth(term) is not wanted:
            self._change(term, chance, wanted=wanted)

    def _change(self, term: Term, chance: Random, *, wanted: bool) -> None:
        """One value that the formula reads, so that it comes out as wanted if that is enough."""
        names = sorted({each.name for each in variables(term)})
        chance.shuffle(names)
        for name in names:
            before = dict(self._values)
            for value in self._choices[name]:
                self._set(name, value)
                if self._truth(term) is wanted:
                    return
                self._values, self._evaluation = dict(before), None
        if names:
            self._set(names[0], chance.choice(self._choices[names[0]]))

    def _set(self, name: str, value: Value) -> None:
        if value is True:
            # A step makes one call only.
            self._values.update(dict.fromkeys(self._calls.get(name, ()), False))
        self._values[name] = value
        self._evaluation = None

    def _truth(self, formula: Term) -> bool | None:
        self._tried += 1
        try:
            if self._evaluation is None:
                self._evaluation = Evaluation(Environment(self._values))
            return _is_true(formula, self._evaluation)
        except (IrError, ArithmeticError, TypeError):
            return None


def _conjuncts(*formulas: Term) -> Iterator[Term]:
    for each in formulas:
        if isinstance(each, App) and each.op == "and":
            yield from _conjuncts(*each.args)
        else:
            yield each


_Known = bool | int | float | str | Fraction | EnumValue | None
_TYPES: Final = (BOOL, INT, REAL, FLOAT, STR)


def _calls(trace: SymbolicTrace) -> list[list[str]]:
    """For each step, the variables of which at most one is true; a call that does not matter comes last."""
    known: list[int | None] = [*range(len(trace.scope.effects))]
    if trace.scope.has_other and trace.scope.signature.is_free:
        known.append(None)
    return [[call_name(step, number) for number in known] for step in range(trace.steps)]


def _around(type_: Type, constants: Sequence[_Known]) -> list[Value]:
    """Constants, what is next to them or begins with them, and what is none of them."""
    if type_ == BOOL:
        return [False, True]
    if type_ == STR:
        texts = [each for each in constants if isinstance(each, str)]
        begun = [f"{each}{FRESH}" for each in texts if len(each) <= LONGEST]
        return [FRESH * (1 + max((len(each) for each in texts), default=0)), *texts, "", *begun]
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


def _largest(choices: Sequence[Value]) -> Value:
    """The largest number of these, where they are exact ones; else the first."""
    numbers = [
        each for each in choices if isinstance(each, int | Fraction) and not isinstance(each, bool)
    ]
    return max(numbers) if len(numbers) == len(choices) else choices[0]


def _made_of(texts: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Texts of these lengths, and where they are few, those that hold one of these texts, or two of them."""
    # Texts are as often held to a length as to a text.
    made = [FRESH * size for size in sizes]
    if len(texts) <= MOST_JOINED:
        held = [each for each in texts if 0 < len(each) <= LONGEST]
        made += [each.ljust(size, FRESH) for size in sizes for each in held if len(each) < size]
        made += [f"{one}{FRESH}{other}" for one, other in permutations(held, 2)]
    return made


def _is_true(term: Term, evaluation: Evaluation) -> bool:
    """The same as evaluation says, stopping at the first part that decides; formulas are not deep."""
    if isinstance(term, App) and term.op == "and":
        return all(_is_true(part, evaluation) for part in term.args)
    if isinstance(term, App) and term.op == "or":
        return any(_is_true(part, evaluation) for part in term.args)
    return evaluation.holds(term)
