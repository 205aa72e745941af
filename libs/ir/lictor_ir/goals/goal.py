"""What there is to decide about a document, as formulas over scalars without quantifiers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lictor_ir.terms import FALSE, Term, Var
from lictor_schema.proofs.proof_strength import ProofStrength as Strength

__all__ = ["Goal", "GoalKind", "Strength"]


class GoalKind(StrEnum):
    """What a goal is about."""

    GUARANTEE = "guarantee"
    PRECONDITION = "precondition"
    NO_ERROR = "no_error"
    ASSERTION = "assertion"
    PROMISE = "promise"
    """In every run that comes to a trusted call, some result keeps what it promises: its witness does."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Holds exactly when `given` and `refute` can't be true together."""

    id: str
    """`guarantee.0.1`: the kind, the place of its subject in the document, and the part of it."""
    kind: GoalKind
    subject: int
    """Which guarantee, obligation or assumption of the document; of several promises of a call, the first."""
    given: tuple[Term, ...]
    refute: Term
    strength: Strength = Strength.EVERY_PREFIX
    atoms: tuple[str, ...] = ()
    """The atoms that it is about."""
    undecided: tuple[str, ...] = ()
    """What could not be put into the formula: unless it is empty, the goal can be refuted but not held."""
    approximate: bool = False
    """The formula allows more than the runs of the program: a model of it is only a candidate."""
    stand_ins: tuple[Var, ...] = ()
    """The variables that allow more."""

    rests_on_promises: bool = False
    """Nothing is left of the formula because of what trusted calls promise."""

    @property
    def folded(self) -> bool:
        """Whether nothing is left for a solver."""
        return self.refute is FALSE
