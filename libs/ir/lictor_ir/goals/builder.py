"""Puts goals together: ways in which something may be violated, and what may be relied on in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lictor_ir.document import Document
from lictor_ir.goals.assumptions import Assumed, Instance, usable
from lictor_ir.goals.goal import Goal, GoalKind, Strength
from lictor_ir.goals.occurrences import Point
from lictor_ir.places import solver_order
from lictor_ir.scalars.expansion import STAND_IN, Expander
from lictor_ir.terms import (
    FALSE,
    App,
    Result,
    Term,
    Var,
    and_,
    apply,
    const,
    eq,
    implies,
    or_,
    postorder,
    var,
)
from lictor_ir.types import STR, EnumOf, Type
from lictor_ir.validation.terms import TermRules
from lictor_ir.values import EnumValue

MAX_ORDERED: Final = 200_000
"""Promises that count only after their call are spelled out for each violation up to this number."""


@dataclass(frozen=True, slots=True)
class GoalViolation:
    """One way in which something is violated."""

    formula: Term
    """Expanded."""
    reached: tuple[Point, ...] = ()
    """Moments that the run has come to: what happens before them did happen."""
    atoms: tuple[str, ...] = ()
    mentions: bool = False
    """Every call whose result the formula reads has returned."""


class Builder:
    """Makes the goals of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.expander = Expander(document.schemas)
        self.assumed = Assumed(document, self.expander)
        self.rules = TermRules(document)
        self._members = {each.name: each.members for each in document.enums}
        self._fresh = 0

    def expand(self, term: Term) -> Term:
        """The term over scalars."""
        return self.expander.expand(term)

    def fresh(self, what: str, type_: Type) -> Var:
        """A new variable that may be anything."""
        self._fresh += 1
        return var(f"{STAND_IN}{what}{self._fresh}", type_)

    def equal(self, left: Term, right: Term) -> Term:
        """Python's == of two terms, over scalars."""
        return self.expander.equal(left, right)

    def moved(self, term: Term, values: Mapping[Term, Term]) -> Term:
        """An expanded term in the iteration that the values choose."""
        return self.expander.moved(term, values)

    def one_of(self, choice: Term, numbers: range) -> Term:
        """The choice is one of the numbers."""
        return and_(
            apply("le", const(numbers.start), choice), apply("lt", choice, const(numbers.stop))
        )

    def goal(
        self,
        goal_id: str,
        kind: GoalKind,
        subject: int,
        violations: Iterable[GoalViolation],
        *,
        strength: Strength = Strength.EVERY_PREFIX,
        given: Sequence[Term] = (),
        undecided: Sequence[str] = (),
    ) -> Goal:
        """The goal that none of the violations can happen."""
        live = [each for each in violations if each.formula is not FALSE]
        atoms = tuple(dict.fromkeys(atom for each in live for atom in each.atoms))
        if not live:
            return Goal(goal_id, kind, subject, (), FALSE, strength, atoms, tuple(undecided))
        instances = self.assumed.relevant([*(each.formula for each in live), *given])
        relied = [*given]
        ordered: list[Instance] = []
        for instance in instances:
            if instance.own or strength == Strength.ON_COMPLETION:
                relied.append(instance.formula)
            else:
                ordered.append(instance)
        if len(ordered) * len(live) > MAX_ORDERED:
            ordered = []
        refute = or_(
            *(and_(each.formula, *self._after(each, ordered)) for each in live),
        )
        return self.finished(
            Goal(
                goal_id,
                kind,
                subject,
                tuple(relied),
                refute,
                strength,
                atoms,
                tuple(undecided),
                rests_on_promises=refute is FALSE and bool(ordered),
            )
        )

    def finished(self, goal: Goal) -> Goal:
        """The goal with what holds of every value: lengths are not negative, enums have their members."""
        always: dict[Term, None] = {}
        stand_ins: dict[Var, None] = {}
        for term in solver_order(*goal.given, goal.refute):
            if isinstance(term, App) and term.op == "len" and term.args[0].type != STR:
                always[apply("le", const(0), term)] = None
            elif isinstance(term, Var) and term.name.startswith(STAND_IN):
                stand_ins[term] = None
            if isinstance(term.type, EnumOf) and isinstance(term, App | Result | Var):
                name = term.type.name
                members = [const(EnumValue(name, each)) for each in self._members.get(name, ())]
                if members:
                    always[or_(*(eq(term, each) for each in members))] = None
        return Goal(
            goal.id,
            goal.kind,
            goal.subject,
            (*goal.given, *always),
            goal.refute,
            goal.strength,
            goal.atoms,
            goal.undecided,
            approximate=bool(stand_ins),
            stand_ins=tuple(stand_ins),
            rests_on_promises=goal.rests_on_promises,
        )

    def _after(self, violation: GoalViolation, ordered: Sequence[Instance]) -> list[Term]:
        if not ordered:
            return []
        returned = [
            point
            for term in (postorder(violation.formula) if violation.mentions else ())
            if isinstance(term, Result) and (point := self.assumed.point_of(term)) is not None
        ]
        return [
            implies(self.expand(usable(each, violation.reached, returned)), each.formula)
            for each in ordered
        ]
