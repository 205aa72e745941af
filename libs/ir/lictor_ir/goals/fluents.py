"""The goal of a contract about a fluent: its value at the end, for a key to be found.

Updates outside of loops apply in order. Of a loop it is enough to know its last update of that key, in some iteration:
the solver chooses one, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from lictor_ir.contracts import FIELD_PREFIX, KEY_NAME, VALUE_NAME, AtEnd
from lictor_ir.document import Atom, Fluent, Update
from lictor_ir.errors import TermError, UnsupportedError
from lictor_ir.goals.builder import Builder, GoalViolation
from lictor_ir.goals.goal import Goal, GoalKind, Strength
from lictor_ir.goals.occurrences import had_effect, in_bounds
from lictor_ir.terms import (
    FALSE,
    Term,
    and_,
    const,
    eq,
    implies,
    ite,
    not_,
    substitute,
    variables,
)
from lictor_ir.types import FLOAT, INT

_Change = tuple[Atom, Update]


def at_end_goal(builder: Builder, goal_id: str, subject: int, contract: AtEnd) -> Goal:
    """The goal of an `AtEnd`."""
    changes: list[_Change] = [
        (atom, update)
        for atom in builder.document.atoms
        for update in atom.updates
        if update.fluent == contract.fluent and atom.guard is not FALSE
    ]
    atoms = tuple(dict.fromkeys(atom.id for atom, _ in changes))
    try:
        fluent = next(
            (each for each in builder.document.fluents if each.name == contract.fluent), None
        )
        if fluent is None:
            raise UnsupportedError(f"the fluent {contract.fluent!r} is not declared")
        violation, given = _violated(builder, contract, fluent, changes)
    except (UnsupportedError, TermError) as why:
        return Goal(
            goal_id,
            GoalKind.GUARANTEE,
            subject,
            (),
            FALSE,
            Strength.ON_COMPLETION,
            atoms,
            (str(why),),
        )
    return builder.goal(
        goal_id,
        GoalKind.GUARANTEE,
        subject,
        [GoalViolation(violation, atoms=atoms)],
        strength=Strength.ON_COMPLETION,
        given=given,
    )


def _violated(
    builder: Builder, contract: AtEnd, fluent: Fluent, changes: Sequence[_Change]
) -> tuple[Term, list[Term]]:
    if contract.key is None and fluent.key == FLOAT:
        # NaN is set, and equals no key that could be found.
        raise UnsupportedError(f"a key of the fluent {fluent.name} may be NaN")
    key = contract.key if contract.key is not None else builder.fresh("key", fluent.key)
    key = builder.expand(key)
    value = builder.expand(fluent.initial)
    given: list[Term] = []
    for loop, block in groupby(
        changes, lambda change: change[0].binders[0].index if change[0].binders else None
    ):
        if loop is None:
            for atom, update in block:
                happens = builder.expand(and_(atom.guard, had_effect(atom)))
                matches = and_(happens, builder.equal(update.key, key))
                value = ite(matches, builder.expand(update.value), value)
        else:
            value, more = _after_loop(builder, list(block), key, value)
            given += more
    names = {KEY_NAME: key, VALUE_NAME: value}
    fields: dict[Term, Term] = {}
    for variable in variables(contract.holds):
        name = variable.name.removeprefix(FIELD_PREFIX)
        if name not in names:
            raise UnsupportedError(f"a contract about a fluent reads {variable.name!r}")
        fields[variable] = names[name]
    return builder.expand(not_(substitute(contract.holds, fields))), given


def _after_loop(
    builder: Builder, changes: Sequence[_Change], key: Term, value: Term
) -> tuple[Term, list[Term]]:
    """The value after a loop, and what is known of the update that the solver chooses as the last."""
    choice = builder.fresh("last", INT)
    given: list[Term] = []

    def sets(change: _Change, at: dict[Term, Term]) -> Term:
        atom, update = change
        condition = and_(atom.guard, had_effect(atom))
        happens = and_(in_bounds(atom.binders, at), substitute(condition, at))
        return and_(builder.expand(happens), builder.equal(substitute(update.key, at), key))

    for number, change in enumerate(changes):
        atom, update = change
        chosen = eq(choice, const(number))
        at: dict[Term, Term] = {
            binder.index: builder.fresh("iteration", INT) for binder in atom.binders
        }
        value = ite(chosen, builder.expand(substitute(update.value, at)), value)
        given.append(implies(chosen, sets(change, at)))
        for later in changes[number + 1 :]:
            # What follows in the same iteration did not set the key again.
            if {binder.index for binder in later[0].binders} <= set(at):
                given.append(implies(chosen, not_(sets(later, at))))
        # A key that the first iteration sets is set.
        first: dict[Term, Term] = {binder.index: const(0) for binder in atom.binders}
        given.append(implies(sets(change, first), not_(eq(choice, const(-1)))))
    given.append(builder.one_of(choice, range(-1, len(changes))))
    return value, given
