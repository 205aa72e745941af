"""The action gate: one contract held against the log of its decision, its envelope at this moment, and the ladder.

In this order: a decision that has not begun or has ended lets nothing through; a key that was used decides by what
came of it; then every reason to deny the action is gathered, the frozen decision and the ladder's word
included, and the strictest wins. Only `first` is ever allowed, and an answer that was lost on the way is judged anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from lictor_contracts.action.idempotency import KeyState, ask, key_of
from lictor_contracts.action.judgement import (
    BEYOND,
    ActionDecision,
    ActionJudgement,
    ActionReason,
    action_hash,
    judge_action,
    one_person,
)
from lictor_contracts.decision.outcome import rung_now
from lictor_contracts.decision.question_stamp import (
    POLICY,
    QuestionStamp,
    make,
    moment,
    told_violation,
)
from lictor_contracts.decision.state import ActionState, Deciding, Switch, verdict_of
from lictor_contracts.envelope.bounds import FEATURE, US_PER_MS, BoundViolation, EnvelopeBound
from lictor_contracts.envelope.ladder import LadderInput
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.decision_log import ActionJudged, ContractReason, RungTaken
from lictor_schema.contracts.decision_questions import ActionGateAnswer
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.core.base_model import MAX_ITEMS
from lictor_schema.seals.episode import EpisodeState

RETRY_AFTER_MS: Final = 1000
MAX_ENTRIES: Final = 2000
"""How long one log may grow before only its end is taken; a longer one would take longer to fold than an answer may."""

_Known = Literal["first", "in_flight", "done", "conflict"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What comes of a question to the gate."""

    entry: ActionJudged | None
    answer: ActionGateAnswer
    is_logged: bool = True
    """Whether the log says so: by this entry, or by one before that says the same."""


def judge(
    state: Deciding | None,
    switch: Switch,
    asked: QuestionStamp,
    contract: SafeActionContract,
    facts: Mapping[str, object],
    calls_seen: int = 0,
) -> Judged:
    """Whether the action may be dispatched at this moment; ``calls_seen`` is what the tool gate let through."""
    if state is None:
        return deny(
            asked,
            "not-begun",
            f"no decision of task {asked.task_id} began in runtime {asked.runtime}",
            "begin it first (`lictor.contract.begin`); nothing is allowed without its envelope",
        )
    if not state.is_open:
        return deny(
            asked, "ended", "the decision has ended", "begin another task for further actions"
        )
    is_new = contract.action_id not in state.actions
    if state.entries >= MAX_ENTRIES or (is_new and len(state.actions) >= MAX_ITEMS):
        return deny(
            asked, "too-long", "the decision's log is full", "split the work into several tasks"
        )
    _, standing = ask(state.ledger, contract)
    if standing.standing is KeyState.CONFLICT:
        return _conflict(state, asked, contract, standing.message or "the key is taken")
    if standing.standing is KeyState.DONE:
        return _done(state, asked, contract, standing.result)
    if standing.standing is KeyState.IN_FLIGHT:
        if state.ledger.claims[key_of(contract)].action_id not in state.actions:
            return _from_before(asked)
        taken = _taken(state, asked, contract)
        if taken is not None:
            return _in_flight(asked, taken)
    return _judge(state, switch, asked, contract, facts, calls_seen)


def _taken(
    state: Deciding, asked: QuestionStamp, contract: SafeActionContract
) -> ActionState | None:
    """The action that holds the key: allowed or sent, and not to exactly this question."""
    for each in state.under_key(contract):
        own = (each.contract.action_id, each.request_id) == (contract.action_id, asked.request_id)
        if not own and (each.decision == "allow" or each.dispatches):
            return each
    return None


def _judge(
    state: Deciding,
    switch: Switch,
    asked: QuestionStamp,
    contract: SafeActionContract,
    facts: Mapping[str, object],
    calls_seen: int,
) -> Judged:
    now = moment(state, asked)
    state = replace(state, calls_seen=max(state.calls_seen, calls_seen))
    judgement = judge_action(
        state.envelope,
        contract,
        requested_by=asked.agent_id,
        approvals=state.approvals,
        facts=facts,
        now_us=now,
        signals=state.signals(now),
        told_us=state.told_us,
    )
    remaining = state.envelope.dte.deadline_ms - state.elapsed_ms(now)
    bypass_by = state.bypass_by
    if bypass_by is not None and one_person(bypass_by, asked.agent_id):
        bypass_by = None  # nobody approves what he asks for himself
    beyond = [each.message for each in judgement.reasons if each.code in BEYOND]
    situation = LadderInput(
        judgement.violations,
        remaining,
        state.finding,
        approved_by=bypass_by,
        beyond="; ".join(beyond) or None,
    )
    rung = rung_now(state, situation)
    reasons = (
        *_frozen(state, switch),
        *(_told(each) for each in judgement.reasons),
        *_ladder_says(rung, judgement),
    )
    entry = make(
        ActionJudged,
        "action_judged",
        state,
        asked,
        contract=contract,
        action_hash=judgement.action_hash,
        decision=_strictest(reasons),
        standing="first",
        reasons=reasons,
        violations=tuple(told_violation(each) for each in judgement.violations),
        fresh_at_plan=tuple(_fresh_at_plan(state, judgement.violations)),
        oldest_ms=_oldest_ms(state, now),
        approvers=judgement.approvers,
        rung=rung,
        calls_seen=calls_seen,
    )
    # An allowance whose answer was lost still holds, and who waits asks often: what says nothing new is no entry.
    known = state.actions.get(contract.action_id)
    repeated = (
        known is not None
        and known.action_hash == entry.action_hash
        and known.verdict == verdict_of(entry)
    )
    return Judged(None if repeated else entry, answer_of(entry))


def answer_of(entry: ActionJudged) -> ActionGateAnswer:
    """The reply to a question, from its entry."""
    decision = {"allow": "allow", "wait": "wait", "refuse": "deny"}[entry.decision]
    strictest = [each for each in entry.reasons if each.decision == entry.decision]
    step = None if entry.rung is None else entry.rung.step
    if strictest:
        reason = "; ".join(each.message for each in strictest)
        remedy = "; ".join(dict.fromkeys(each.remedy for each in strictest))
        policy = f"{POLICY}.{strictest[0].code.replace('_', '-')}"
    else:
        how = "" if step is None else f", on the rung {step.value}"
        reason, remedy, policy = f"its contract and its envelope hold{how}", None, f"{POLICY}.holds"
    return ActionGateAnswer(
        request_id=entry.request_id,
        decision=decision,  # pyright: ignore[reportArgumentType] -- one of the three
        reason=reason,
        remedy=remedy,
        policy_id=policy,
        retry_after_ms=RETRY_AFTER_MS if decision == "wait" else None,
        action_hash=entry.action_hash,
        reasons=entry.reasons,
        violations=entry.violations,
        rung=entry.rung,
        standing=entry.standing,
    )


def deny(
    asked: QuestionStamp,
    rule: str,
    reason: str,
    remedy: str,
    *,
    standing: _Known | None = None,
    result: str | None = None,
) -> Judged:
    """A denial that changes nothing."""
    answer = ActionGateAnswer(
        request_id=asked.request_id,
        decision="deny",
        reason=reason,
        remedy=remedy,
        policy_id=f"{POLICY}.{rule}",
        standing=standing,
        result_hash=result,
    )
    return Judged(None, answer, is_logged=False)


def _conflict(
    state: Deciding, asked: QuestionStamp, contract: SafeActionContract, message: str
) -> Judged:
    what, _, remedy = message.rpartition("; ")
    field, _, problem = what.partition(": ")
    reason = ContractReason(
        code="idempotency_conflict", field=field, message=problem, remedy=remedy, decision="refuse"
    )
    entry = make(
        ActionJudged,
        "action_judged",
        state,
        asked,
        contract=contract,
        action_hash=action_hash(contract),
        decision="refuse",
        standing="conflict",
        reasons=(reason,),
    )
    repeated = entry.action_hash in state.conflicts
    return Judged(None if repeated else entry, answer_of(entry))


def _done(
    state: Deciding, asked: QuestionStamp, contract: SafeActionContract, result: str | None
) -> Judged:
    claim = state.ledger.claims[key_of(contract)]
    return deny(
        asked,
        "already-done",
        f"this was carried out already, as action {claim.action_id}",
        "use its result (result_hash); to do it once more, give it a key of its own",
        standing="done",
        result=result,
    )


def _from_before(asked: QuestionStamp) -> Judged:
    return deny(
        asked,
        "result-unknown",
        "this was asked for in an earlier run of the task, and nobody told what came of it",
        "find out whether it was done; to do it now, give it a key of its own",
        standing="in_flight",
    )


def _in_flight(asked: QuestionStamp, first: ActionState) -> Judged:
    answer = ActionGateAnswer(
        request_id=asked.request_id,
        decision="wait",
        reason=f"it is being carried out as action {first.contract.action_id}",
        remedy="wait for its result, and ask again under the same key",
        policy_id=f"{POLICY}.in-flight",
        retry_after_ms=RETRY_AFTER_MS,
        action_hash=first.action_hash,
        standing="in_flight",
    )
    return Judged(None, answer, is_logged=False)


def _frozen(state: Deciding, switch: Switch) -> tuple[ContractReason, ...]:
    life = state.life(switch)
    if life.state is not EpisodeState.FROZEN:
        return ()
    reason = ContractReason(
        code="frozen",
        field="state",
        message=f"the decision is frozen by {life.authority.by}: {life.authority.reason}",
        remedy="have somebody other than its actor resume it (`lictor contract resume`)",
        decision="refuse",
    )
    return (reason,)


def _ladder_says(rung: RungTaken, judgement: ActionJudgement) -> tuple[ContractReason, ...]:
    detail = rung.rationale.get("detail") or rung.rationale.get("reason")
    if rung.step is DegradeStep.ABSTAIN:
        left = "; no rung that would help is left" if rung.exhausted else ""
        reason = ContractReason(
            code="abstain",
            field="degradeLadder",
            message=f"the ladder says abstain ({detail}{left})",
            remedy="do not act; mend what the violations name, or let a person decide",
            decision="refuse",
        )
        return (reason,)
    if rung.step is DegradeStep.HITL and not judgement.approvers:
        reason = ContractReason(
            code="hitl",
            field="degradeLadder",
            message=f"the ladder says that a person must decide ({detail})",
            remedy="wait until a person approves this contract (`lictor contract approve`)",
            decision="wait",
        )
        return (reason,)
    return ()


def _told(reason: ActionReason) -> ContractReason:
    return ContractReason(
        code=reason.code,
        field=reason.field,
        message=reason.message,
        remedy=reason.remedy,
        decision="refuse" if reason.decision is ActionDecision.REFUSE else "wait",
    )


def _strictest(reasons: tuple[ContractReason, ...]) -> str:
    decisions = {each.decision for each in reasons}
    return "refuse" if "refuse" in decisions else "wait" if decisions else "allow"


def _fresh_at_plan(state: Deciding, violations: tuple[BoundViolation, ...]) -> list[str]:
    """Features that time made stale since the plan: those that were captured before it, and fresh then."""
    found: list[str] = []
    freshness = state.envelope.dte.freshness
    for each in violations:
        name = each.field.removeprefix(FEATURE)
        captured = state.captured_us.get(name)
        if (
            each.gate is not EnvelopeBound.FEATURE_TTL
            or captured is None
            or state.planned_us is None
        ):
            continue
        ttl_us = freshness.feature_ttls.get(name, freshness.default_ttl_ms) * US_PER_MS
        same_capture = state.fresh_at_plan.get(name) == captured
        if same_capture and 0 <= state.planned_us - captured <= ttl_us:
            found.append(name)
    return found


def _oldest_ms(state: Deciding, now_us: int) -> int | None:
    ages = [now_us - captured for captured in state.captured_us.values() if captured <= now_us]
    return max(ages) // US_PER_MS if ages else None
