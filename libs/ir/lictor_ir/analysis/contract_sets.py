"""What a set of contracts comes to: whether it can be kept by doing something, and which of them say nothing new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lictor_ir.analysis.contract_parts import Quiet, fluents_of, parts_of, subject
from lictor_ir.analysis.entailment import Entailment, EntailmentVerdict, implication
from lictor_ir.analysis.signature import Signature
from lictor_ir.analysis.solver_budget import Budget
from lictor_ir.analysis.trace_length import relations_of
from lictor_ir.analysis.witnesses import empty_trace, keeps
from lictor_ir.contracts import Contract, Relation
from lictor_ir.evaluation import Trace
from lictor_ir.goals.goal import Goal


class Possibility(StrEnum):
    """Whether contracts can be kept."""

    SATISFIABLE = "satisfiable"
    """By a trace in which something happens that they speak of; by the empty one, if all they do is to forbid."""
    ONLY_TRIVIAL = "only_trivial"
    """Only by traces in which nothing happens that they speak of: they hold of nothing."""
    IMPOSSIBLE = "impossible"
    """By no trace at all."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Possible:
    """Whether contracts can be kept, and what shows it."""

    possibility: Possibility
    reason: str
    witness: Trace | None = None
    """A trace that keeps them; for `only_trivial` the empty one."""
    goals: tuple[Goal, ...] = ()
    """Of `only_trivial` and `impossible`: what has no model."""


@dataclass(frozen=True, slots=True)
class Redundant:
    """A contract that the others imply."""

    contract: int
    """Its place in the set."""
    by: tuple[int, ...]
    """The places of those that imply it, all of them kept."""
    entailment: Entailment


@dataclass(frozen=True, slots=True)
class Reduction:
    """A minimal subset that says as much as all; of equals the first."""

    kept: tuple[int, ...]
    redundant: tuple[Redundant, ...]
    needed: Mapping[int, Entailment]
    """Why each of the kept ones is: a trace that only it rules out, or what is not known."""


@dataclass(frozen=True, slots=True)
class SetAnalysis:
    """What a set of contracts comes to."""

    alone: tuple[Possible, ...]
    """Each contract by itself."""
    together: tuple[Possible, ...]
    """Whether each has something to speak of where all of them hold."""
    reduction: Reduction


def possible(
    signature: Signature,
    contracts: Sequence[Contract],
    budget: Budget,
    *,
    about: Sequence[Contract] | None = None,
) -> Possible:
    """Whether the contracts can be kept, by a trace in which something happens that `about` speaks of (they all)."""
    parts = list(parts_of(contracts if about is None else about))
    relations = tuple(dict.fromkeys(each for part in parts for each in subject(part)))
    fluents = tuple(dict.fromkeys(each for part in parts for each in fluents_of(part)))
    nothing = empty_trace(signature)
    idle = keeps(contracts, nothing)
    if not relations and not fluents and idle:
        return Possible(Possibility.SATISFIABLE, "it is kept by doing nothing", nothing)
    found = implication(signature, contracts, Quiet(relations, fluents), budget)
    if found.verdict is EntailmentVerdict.NOT_IMPLIED:
        return Possible(Possibility.SATISFIABLE, "a trace keeps it", found.witness)
    if found.verdict is EntailmentVerdict.UNKNOWN:
        return Possible(Possibility.UNKNOWN, found.reason)
    if idle:
        reason = "it is kept only where nothing happens that it speaks of"
        return Possible(Possibility.ONLY_TRIVIAL, reason, nothing, found.goals)
    never = _never(signature, contracts, budget)
    if never is not None:
        return Possible(Possibility.IMPOSSIBLE, "no trace keeps it", goals=never.goals)
    return Possible(Possibility.UNKNOWN, "the empty trace does not keep it, and others may")


def _never(
    signature: Signature, contracts: Sequence[Contract], budget: Budget
) -> Entailment | None:
    """That everything is implied: also that nothing happens that any of them reads, and the empty trace is none."""
    parts = list(parts_of(contracts))
    bare = dict.fromkeys(Relation(each.effects, each.events) for each in relations_of(parts))
    fluents = tuple(dict.fromkeys(each for part in parts for each in fluents_of(part)))
    found = implication(signature, contracts, Quiet(tuple(bare), fluents), budget)
    return found if found.is_implied else None


def analyze(signature: Signature, contracts: Sequence[Contract], budget: Budget) -> SetAnalysis:
    """All that can be told about a set of contracts. DocumentError when one does not fit the signature."""
    signature.check(contracts)
    alone = tuple(possible(signature, [each], budget) for each in contracts)
    together = alone
    if len(contracts) > 1:
        together = tuple(possible(signature, contracts, budget, about=[each]) for each in contracts)
    return SetAnalysis(alone, together, reduced(signature, contracts, budget))


def reduced(signature: Signature, contracts: Sequence[Contract], budget: Budget) -> Reduction:
    """A minimal subset that says as much, and why each is in it or not; what is not known is kept.

    From the last to the first, each contract that the rest implies is taken out; so of equals the first stays.
    Contracts are held against each other alone: what trusted functions demand holds too, and nobody said it.
    """
    signature = signature.without_demands()
    kept = list(range(len(contracts)))
    taken: list[tuple[int, Entailment]] = []
    needed: dict[int, Entailment] = {}
    for at in reversed(range(len(contracts))):
        rest = [other for other in kept if other != at]
        found = implication(signature, [contracts[each] for each in rest], contracts[at], budget)
        if found.is_implied:
            kept = rest
            taken.append((at, found))
        else:
            needed[at] = found
    redundant = [_explained(signature, contracts, kept, at, found, budget) for at, found in taken]
    redundant.sort(key=lambda each: each.contract)
    return Reduction(tuple(kept), tuple(redundant), needed)


def _explained(
    signature: Signature,
    contracts: Sequence[Contract],
    kept: Sequence[int],
    at: int,
    found: Entailment,
    budget: Budget,
) -> Redundant:
    """Which of the kept ones are needed to imply it; all, where that can't be told in time."""
    by = list(kept)
    why = found
    for each in kept:
        fewer = [other for other in by if other != each]
        shorter = implication(
            signature, [contracts[other] for other in fewer], contracts[at], budget
        )
        if shorter.is_implied:
            by, why = fewer, shorter
    return Redundant(at, tuple(by), why)
