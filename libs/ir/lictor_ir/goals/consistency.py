"""Whether what trusted calls promise can come true: promises that can't would prove anything.

Most promises are seen to be satisfiable by trying a few plain values, so no solver is needed for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Final

from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.goals.assumptions import usable
from lictor_ir.goals.builder import Builder
from lictor_ir.goals.goal import Goal, GoalKind, Strength
from lictor_ir.places import LENGTH, place, solver_order
from lictor_ir.scalars.expansion import STAND_IN
from lictor_ir.terms import FALSE, TRUE, Result, Term, Var, and_, const, implies, substitute
from lictor_ir.types import BOOL, FLOAT, INT, REAL, STR, Type

_Plain = bool | int | float | str | Fraction
TRIES: Final[tuple[tuple[int, str, bool], ...]] = (
    (0, "", False),
    (1, "a", True),
    (0, "a", True),
    (1, "a@example.com", True),
    (2, "/a/b", False),
    (10, "a", True),
    (100, "a", True),
    (-1, "", True),
)

SHIFTS: Final = (0, 1, -1)
"""How much results differ from inputs and indices."""


def consistency_goals(builder: Builder) -> Iterator[Goal]:
    """For each call that promises something not plainly possible, the goal that it is possible."""
    subjects: dict[str, int] = {}
    for at, assumption in enumerate(builder.document.assumptions):
        subjects.setdefault(assumption.call, at)
    for call in builder.assumed.calls:
        for own in (True, False):
            if not builder.assumed.promises(call, own=own):
                continue
            goal_id = f"consistency.{subjects[call]}.{'result' if own else 'arguments'}"
            guards = [TRUE] if own else builder.assumed.guards(call, own=own)
            for number, guard in enumerate(guards):
                name = f"{goal_id}.{number}" if number else goal_id
                goal = _goal(builder, call, guard, name, subjects[call], own=own)
                if goal is not None:
                    yield goal


def never_reached(goal: Goal) -> Goal | None:
    """The goal that the call is never made: then nobody relies on what it promises. None when it always may be."""
    if not goal.given:
        return None
    return replace(
        goal,
        id=f"{goal.id}.unreached",
        kind=GoalKind.UNREACHED,
        refute=goal.given[0],
        given=goal.given[1:],
    )


def _goal(
    builder: Builder, call: str, when: Term, goal_id: str, subject: int, *, own: bool
) -> Goal | None:
    try:
        point, guard, promised = builder.assumed.closed(call, when, own=own)
    except (UnsupportedError, TermError) as why:
        # Promises that can't be expanded are not relied on anywhere either, but they may be half relied on.
        return Goal(goal_id, GoalKind.CONSISTENCY, subject, (), FALSE, undecided=(str(why),))
    given: list[Term] = []
    if not own:
        if guard is FALSE:
            return None
        given.append(guard)
        unread = builder.assumed.without_result(point.position)
        for instance in [*unread, *builder.assumed.relevant([guard, promised])]:
            earlier = builder.expand(usable(instance, (point,), ()))
            given.append(implies(earlier, instance.formula))
    if promised is TRUE or _plainly_possible(and_(*given, promised)):
        return None
    return builder.finished(
        Goal(
            goal_id,
            GoalKind.CONSISTENCY,
            subject,
            tuple(given),
            promised,
            Strength.EVERY_PREFIX,
            (call,),
        )
    )


def _plainly_possible(formula: Term) -> bool:
    found = [term for term in solver_order(formula) if place(term) is not None]
    if any(isinstance(term, Var) and term.name.startswith(STAND_IN) for term in found):
        return False
    lengths = {
        term for term in found if (at := place(term)) is not None and at.steps[-1:] == (LENGTH,)
    }
    for (number, text, truth), shift in product(TRIES, SHIFTS):
        for size in (0, 1, 2) if lengths else (0,):
            values: dict[Term, Term] = {}
            for term in found:
                if term in lengths:
                    values[term] = const(size)
                    continue
                at = place(term)
                more = shift if at is not None and isinstance(at.root, Result) else 0
                plain = _plain(term.type, number + more, text, truth=truth)
                if plain is not None:
                    values[term] = const(plain)
            if substitute(formula, values) is TRUE:
                return True
    return False


def _plain(type_: Type, number: int, text: str, *, truth: bool) -> _Plain | None:
    if type_ == BOOL:
        return truth
    if type_ == INT:
        return number
    if type_ == FLOAT:
        return float(number)
    if type_ == REAL:
        return Fraction(number)
    return text if type_ == STR else None
