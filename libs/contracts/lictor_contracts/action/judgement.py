"""A Safe Action Contract judged before its dispatch: every reason to deny it, each with a remedy.

What can't be changed by waiting refuses; what only lacks an approval waits. Freshness and the deadline are judged at
the moment of this question, not at that of the plan. An approval counts for the exact contract whose hash it names,
and answers for stale context only if it was given when that was stale already.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from lictor_contracts.action.preconditions import unmet
from lictor_contracts.envelope.bounds import (
    FEATURE,
    BoundViolation,
    Envelope,
    EnvelopeBound,
    Signals,
    is_count,
    told,
)
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.envelope import BlastRadius, DegradeStep
from lictor_schema.core.canonical_json import content_hash

APPROVERS_OF_THE_LARGEST = 2
"""How many people must approve an action of the tier `large`, whatever its mode."""

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
# What Unicode says to show as nothing, beyond the categories of control and format characters.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


class ActionDecision(StrEnum):
    """What is to be done with an action."""

    ALLOW = "allow"
    WAIT = "wait"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's agreement to exactly one contract."""

    approver: str
    approved_at_us: int
    action_hash: str


@dataclass(frozen=True, slots=True)
class ActionReason:
    """One reason to deny an action."""

    code: str
    field: str
    """Where: of the contract or of the envelope, as the wire spells it."""
    message: str
    remedy: str
    decision: ActionDecision
    """What this alone would lead to: `wait` or `refuse`."""
    gate: EnvelopeBound | None = None
    """The gate, where it is a violation of the envelope."""


@dataclass(frozen=True, slots=True)
class ActionJudgement:
    """Whether an action may be dispatched."""

    decision: ActionDecision
    reasons: tuple[ActionReason, ...]
    """All of them, in the order they were looked for; empty exactly for `allow`."""
    action_hash: str
    approvers: tuple[str, ...]
    """Whose approvals counted, in the order given."""
    ignored: tuple[tuple[Approval, str], ...]
    """Approvals that counted for nothing, with why."""
    violations: tuple[BoundViolation, ...]
    """All of the envelope at this moment, also those that only degrade."""


def action_hash(contract: SafeActionContract) -> str:
    """The name of a contract: what approvals refer to."""
    return content_hash(contract)


def one_person(one: str, other: str) -> bool:
    """Whether two names may stand for the same person.

    Case, spaces, Unicode forms and characters that nobody sees tell nobody apart.
    """
    return person_key(one) == person_key(other)


def is_somebody(name: str) -> bool:
    """Whether a name shows anything at all."""
    return bool(person_key(name))


def person_key(name: object) -> str:
    """The same text for all names of one person, and for nobody else's; empty for a name that shows nothing."""
    return _folded(name) if isinstance(name, str) else ""


# A gate compares each approver with whoever asks, for every question about a call that waits.
@lru_cache(maxsize=4096)
def _folded(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    seen = (each for each in folded if unicodedata.category(each)[0] != "C")
    # Once more: folding and leaving out can bring together what belongs together.
    shown = unicodedata.normalize("NFKC", _INVISIBLE.sub("", "".join(seen)))
    # Spaces tell nobody apart, however many and wherever they stand.
    return "".join(shown.split())


def judge_action(
    envelope: Envelope,
    contract: SafeActionContract,
    *,
    requested_by: str,
    approvals: Iterable[Approval],
    facts: Mapping[str, object],
    now_us: int,
    signals: Signals,
    told_us: Mapping[str, int] = _NOTHING,
) -> ActionJudgement:
    """Whether the action may be dispatched at this moment, with every reason why not.

    ``told_us`` is when each capture was reported: an earlier approval did not see it.
    """
    name = action_hash(contract)
    counted, ignored = _counted(approvals, name, requested_by, now_us)
    violations = envelope.violations(signals.at(now_us), tier=contract.blast_radius_tier)
    reasons = (
        *_question(requested_by, now_us, signals),
        *_scope(envelope, contract),
        *_facts(contract, facts),
        *_authorization(contract, requested_by, counted, ignored),
        *(_violated(envelope, each) for each in unanswered(envelope, violations, counted, told_us)),
    )
    decisions = {reason.decision for reason in reasons}
    if ActionDecision.REFUSE in decisions:
        decision = ActionDecision.REFUSE
    elif reasons:
        decision = ActionDecision.WAIT
    else:
        decision = ActionDecision.ALLOW
    approvers = tuple(dict.fromkeys(each.approver for each in counted))
    return ActionJudgement(decision, reasons, name, approvers, ignored, violations)


BEYOND: Final = ("blast_radius", "blocked")
"""Reasons by which a contract asks for what no action of its envelope may have: the ladder is consulted."""


def unanswered(
    envelope: Envelope,
    violations: Iterable[BoundViolation],
    approvals: Iterable[Approval],
    told_us: Mapping[str, int],
) -> tuple[BoundViolation, ...]:
    """The hard violations that nobody answers for: stale context is answered for by a person who saw it stale.

    Only where the ladder lists `hitl` before `abstain`, and only by an approval of this very contract.
    """
    last = max((each.approved_at_us for each in approvals), default=0)
    asks = _a_person_may_answer(envelope)

    def is_answered(violation: BoundViolation) -> bool:
        since = violation.stale_since_us
        told_at = told_us.get(violation.field.removeprefix(FEATURE), 0)
        return asks and since is not None and last > max(since, told_at)

    return tuple(each for each in violations if each.is_hard and not is_answered(each))


def approvals_of(
    approvals: Iterable[Approval], name: str, requested_by: str, now_us: int
) -> tuple[Approval, ...]:
    """Those that count for one exact contract."""
    return _counted(approvals, name, requested_by, now_us)[0]


def _a_person_may_answer(envelope: Envelope) -> bool:
    steps = [rung.step for rung in envelope.dte.degrade_ladder]
    return DegradeStep.HITL in steps[: steps.index(DegradeStep.ABSTAIN)]


def _question(requested_by: str, now_us: int, signals: Signals) -> Iterator[ActionReason]:
    """What is wrong with the question itself."""
    if not person_key(requested_by):
        yield _refuse(
            "requester_unknown",
            "requestedBy",
            f"the requester is {told(requested_by)}",
            "say who asks; nobody could be told apart from an approver",
        )
    if is_count(now_us) and is_count(signals.now_us) and signals.now_us > now_us:
        yield _refuse(
            "clock_went_back",
            "signals",
            "the signals were measured after the moment of this question",
            "measure them again, with the clock that the question is asked by",
        )


def _scope(envelope: Envelope, contract: SafeActionContract) -> Iterator[ActionReason]:
    """What the envelope does not let any action request."""
    rule = envelope.dte.safe_action
    tier = contract.blast_radius_tier
    if tier.rank > rule.blast_radius_max.rank:
        yield _refuse(
            "blast_radius",
            "blastRadiusTier",
            f"the action is {tier.value}, and at most {rule.blast_radius_max.value} is allowed",
            "split it into actions that reach less far, or have a person do it",
        )
    undoable = contract.rollback_plan.type != "none"
    if rule.require_rollback_above.is_exceeded_by(tier) and not undoable:
        yield _refuse(
            "rollback_missing",
            "rollbackPlan.type",
            f"the action is {tier.value}, and above {rule.require_rollback_above.value} it must be"
            " possible to undo it",
            "plan how it is undone: compensate, restore or revert",
        )
    allowed = rule.allowed_action_types
    if allowed is not None and contract.action_type not in allowed:
        yield _refuse(
            "action_type",
            "actionType",
            f"{told(contract.action_type)} is not allowed",
            f"request one of {', '.join(allowed)}" if allowed else "request none: none is allowed",
        )
    if rule.require_idempotency and not (contract.idempotency_key or "").strip():
        yield _refuse(
            "idempotency_key",
            "idempotencyKey",
            "the key is missing or blank, and the envelope demands one",
            "give the action a key, the same for every try of it",
        )


def _facts(contract: SafeActionContract, facts: Mapping[str, object]) -> Iterator[ActionReason]:
    for number, precondition in enumerate(contract.preconditions):
        for each in unmet((precondition,), facts):
            yield _refuse(
                "precondition",
                f"preconditions[{number}]",
                each.why,
                f"make {precondition.fact} so, and ask again",
            )


def _authorization(
    contract: SafeActionContract,
    requested_by: str,
    counted: tuple[Approval, ...],
    ignored: tuple[tuple[Approval, str], ...],
) -> Iterator[ActionReason]:
    authorization = contract.authorization
    if authorization.mode == "blocked":
        yield _refuse(
            "blocked",
            "authorization.mode",
            "the action is blocked",
            "leave it, or have the policy that blocks it changed",
        )
        return
    two = contract.blast_radius_tier is BlastRadius.LARGE
    if not two and authorization.mode == "auto":
        return
    named = authorization.approver
    if named is not None and one_person(named, requested_by):
        yield _refuse(
            "own_approver",
            "authorization.approver",
            "the named approver is the requester, who can't approve it",
            "name somebody else, or have somebody else request it",
        )
        return
    passed_over = "".join(f"; that of {told(each.approver)} {why}" for each, why in ignored[:4])
    if named is not None and named not in [each.approver for each in counted]:
        yield _wait(
            "approval_of_the_named",
            "authorization.approver",
            f"{named} has not approved it{passed_over}",
            f"wait until {named} approves this contract",
        )
    needed = APPROVERS_OF_THE_LARGEST if two else 1
    people = len({person_key(each.approver) for each in counted})
    if people < needed:
        who = "two people" if two else "a person"
        yield _wait(
            "approvals",
            "authorization.mode",
            f"{people} of {needed} people have approved it{passed_over}",
            f"wait until {who} other than the requester approve{'' if two else 's'} this contract",
        )


def _counted(
    approvals: Iterable[Approval], name: str, requested_by: str, now_us: int
) -> tuple[tuple[Approval, ...], tuple[tuple[Approval, str], ...]]:
    """The approvals that count, and the others with why they don't."""
    counted: list[Approval] = []
    ignored: list[tuple[Approval, str]] = []
    for each in approvals:
        person = person_key(each.approver)
        if not person:
            ignored.append((each, "names nobody"))
        elif person == person_key(requested_by):
            ignored.append((each, "is the requester's own"))
        elif each.action_hash != name:
            ignored.append((each, "is of another contract"))
        elif not is_count(each.approved_at_us) or not is_count(now_us):
            ignored.append((each, "has no usable time"))
        elif each.approved_at_us > now_us:
            ignored.append((each, "comes from the future"))
        else:
            counted.append(each)
    return tuple(counted), tuple(ignored)


def _violated(envelope: Envelope, violation: BoundViolation) -> ActionReason:
    message, _, remedy = violation.message.rpartition("; ")
    waits = violation.is_stale and _a_person_may_answer(envelope)
    return ActionReason(
        f"envelope.{violation.gate.value}",
        violation.field,
        message,
        f"{remedy}, or have a person approve the action on it as it is" if waits else remedy,
        ActionDecision.WAIT if waits else ActionDecision.REFUSE,
        violation.gate,
    )


def _refuse(code: str, field: str, message: str, remedy: str) -> ActionReason:
    return ActionReason(code, field, message, remedy, ActionDecision.REFUSE)


def _wait(code: str, field: str, message: str, remedy: str) -> ActionReason:
    return ActionReason(code, field, message, remedy, ActionDecision.WAIT)
