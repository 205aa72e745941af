"""What must be decided about a document, from the document alone.

`goals(document, witnesses)` gives one goal for each trusted call that promises something, for each obligation, and for
each part of each guarantee. Goals are over scalars and without quantifiers: iterations of loops that could violate
something are constants to be found. What a goal can't express is said in `undecided`: it is then never taken to hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from lictor_ir.contracts import Anything, leaves
from lictor_ir.document import Document, Obligation, ObligationKind
from lictor_ir.errors import IrError
from lictor_ir.goals.builder import Builder, GoalViolation
from lictor_ir.goals.goal import Goal, GoalKind, Strength
from lictor_ir.goals.guarantees import contract_goal
from lictor_ir.goals.occurrences import Point, in_bounds
from lictor_ir.goals.promises import promise_goals
from lictor_ir.goals.witness import Witness, Witnesses
from lictor_ir.terms import FALSE, Term, and_, not_

__all__ = [
    "Goal",
    "GoalKind",
    "Strength",
    "Witness",
    "Witnesses",
    "completed",
    "goals",
    "stated_goals",
    "strengths",
]

_KINDS = {
    ObligationKind.PRECONDITION: GoalKind.PRECONDITION,
    ObligationKind.NO_ERROR: GoalKind.NO_ERROR,
    ObligationKind.ASSERTION: GoalKind.ASSERTION,
}


def goals(document: Document, witnesses: Witnesses) -> tuple[Goal, ...]:
    """Everything that must be decided, in the order of the document: promises, obligations, guarantees.

    DocumentError when something can't be a witness of its call.
    """
    builder = Builder(document)
    return (*promise_goals(builder, witnesses), *stated_goals(builder))


def stated_goals(builder: Builder) -> tuple[Goal, ...]:
    """The goals of obligations and guarantees; they rest on promises, so those have goals too."""
    document = builder.document
    made: list[Goal] = []
    for at, obligation in enumerate(document.obligations):
        made.append(_obligation_goal(builder, at, obligation))
    for at, guarantee in enumerate(document.guarantees):
        parts = [part for part in leaves(guarantee.contract) if not isinstance(part, Anything)]
        for number, part in enumerate(parts):
            goal_id = f"guarantee.{at}.{number}"
            try:
                made.append(contract_goal(builder, goal_id, at, part))
            except IrError as why:
                made.append(_undecided(goal_id, GoalKind.GUARANTEE, at, why))
    return tuple(made)


def strengths(document: Document, derived: Iterable[Goal]) -> tuple[Strength, ...]:
    """Of which runs each guarantee holds, once its goals do: of all that its weakest part does."""
    weak = {
        goal.subject
        for goal in derived
        if goal.kind is GoalKind.GUARANTEE and goal.strength is Strength.ON_COMPLETION
    }
    return tuple(
        Strength.ON_COMPLETION if at in weak else Strength.EVERY_PREFIX
        for at in range(len(document.guarantees))
    )


def completed(document: Document, goal: Goal) -> Goal:
    """The goal with every promise of every call: its models are runs to the end, for counterexamples."""
    builder = Builder(document)
    given = (*goal.given, *builder.assumed.everywhere())
    return builder.finished(
        Goal(
            goal.id,
            goal.kind,
            goal.subject,
            given,
            goal.refute,
            goal.strength,
            goal.atoms,
            goal.undecided,
        )
    )


def _undecided(goal_id: str, kind: GoalKind, subject: int, why: Exception) -> Goal:
    return Goal(goal_id, kind, subject, (), FALSE, undecided=(str(why),))


def _obligation_goal(builder: Builder, at: int, obligation: Obligation) -> Goal:
    kind = _KINDS[obligation.kind]
    goal_id = f"{kind}.{at}"
    position = next(
        (at for at, atom in enumerate(builder.document.atoms) if atom.id == obligation.call), None
    )
    reached: tuple[Point, ...] = ()
    if position is not None:
        atom = builder.document.atoms[position]
        if obligation.binders[: len(atom.binders)] == atom.binders:
            indices: tuple[Term, ...] = tuple(binder.index for binder in atom.binders)
            reached = (Point(position, atom.binders, indices),)
    atoms = () if obligation.call is None else (obligation.call,)
    try:
        violated = builder.expand(
            and_(
                in_bounds(obligation.binders, {}),
                obligation.guard,
                not_(obligation.formula),
            )
        )
        return builder.goal(
            goal_id, kind, at, [GoalViolation(violated, reached, atoms, mentions=True)]
        )
    except IrError as why:
        return _undecided(goal_id, kind, at, why)
