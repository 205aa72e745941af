"""What is known of a governed decision: a fold of its log, entry by entry, without a clock.

Entries are believed as they stand: whatever had to be judged was judged before they were written. The sequence at
which an entry stands in the stream is part of the fold, because the kill-switch has a log of its own in the same
stream: what was active when the switch was engaged is frozen until somebody resumes it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from lictor_contracts.action.idempotency import KnownKeys, ask, finish, key_of
from lictor_contracts.action.judgement import Approval
from lictor_contracts.action.preconditions import same
from lictor_contracts.decision.episode_states import Authority, EpisodeStanding
from lictor_contracts.decision.repeated_questions import QuestionTold, told_by
from lictor_contracts.envelope.bounds import US_PER_MS, Envelope, Signals
from lictor_contracts.envelope.ladder import stricter
from lictor_contracts.errors import ContractError, ResultConflict
from lictor_schema.contracts.action import SafeActionContract
from lictor_schema.contracts.decision_log import (
    ActionApproved,
    ActionDispatched,
    ActionFinished,
    ActionJudged,
    ActionVerified,
    AnyDecisionEntry,
    BypassApproved,
    ContextCaptured,
    ContractReason,
    DeadlinePassed,
    DecisionBegun,
    DecisionClosed,
    DecisionEnded,
    DecisionFrozen,
    DecisionResumed,
    Degraded,
    RungTaken,
    SpreadCounted,
    StageBegun,
    StageEnded,
    StageOverrun,
    SwitchEngaged,
    SwitchReleased,
)
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.contracts.verification import Verification, VerificationResult
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.seals.episode import EpisodeState

_BADNESS: Final = {
    VerificationResult.NA: 0,
    VerificationResult.PASS: 1,
    VerificationResult.INCONCLUSIVE: 2,
    VerificationResult.FAIL: 3,
}
LATEST_US: Final = 32_000_000_000_000_000
"""The year 2984: no timer is set for later, and no later time is reported."""
COUNTED: Final = ("hops", "fanout", "tool_calls", "chain_depth")


@dataclass(frozen=True, slots=True)
class Switch:
    """The kill-switch: who engaged it, while it is, and where in the stream it was released last."""

    released_at: int = 0
    halted: Authority | None = None
    last: Authority | None = None
    """Who engaged it last, also after it was released."""
    seen: Mapping[str, str] = field(default_factory=dict[str, str])
    """The kind of entry that each question led to."""
    at_us: int = 0


Verdict = tuple[str, tuple[tuple[str, str], ...], DegradeStep | None]
"""An answer of the gate without measured values: the decision, the reasons to deny it, the rung."""


def verdict_of(entry: ActionJudged) -> Verdict:
    """What an answer said; two that say the same are worth one entry."""
    against = {(each.code, each.field) for each in entry.reasons}
    against |= {(each.gate, each.field) for each in entry.violations}
    return entry.decision, tuple(sorted(against)), entry.rung.step if entry.rung else None


@dataclass(frozen=True, slots=True)
class ActionState:
    """One action, by its id."""

    contract: SafeActionContract
    action_hash: str
    decision: str
    request_id: str
    """The question that the last answer is to."""
    verdict: Verdict
    """What that answer said."""
    asked_us: int
    """When that was."""
    reasons: tuple[ContractReason, ...] = ()
    """Every reason why it was denied."""
    rung: RungTaken | None = None
    """What the ladder said to it."""
    dispatches: int = 0
    outcome: str | None = None
    differs: tuple[str, ...] = ()
    """Effects that are not as its own result says they were expected."""
    unseen: tuple[str, ...] = ()
    """Effects that were expected, and that its result says nothing about."""
    checks: Mapping[str, Verification] = field(default_factory=dict[str, Verification])
    """What verifiers found last, by check: no pass of one answers for the failure of another."""

    @property
    def verification(self) -> Verification | None:
        """The worst that verifiers found of it; None when none has run."""
        return max(self.checks.values(), key=lambda each: _BADNESS[each.result], default=None)


Said = ActionApproved | BypassApproved | DecisionFrozen | DecisionResumed
"""What people said to a decision."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """A decision from its begin on."""

    envelope: Envelope
    begun: DecisionBegun
    begun_at: int
    """Sequence of its first entry."""
    standing: EpisodeStanding
    last_us: int
    entries: int
    stage: str | None = None
    """The stage that runs now."""
    stage_us: int = 0
    """Since when."""
    spent_us: Mapping[str, int] = field(default_factory=dict[str, int])
    """By stage, what its ended runs took."""
    overrun: frozenset[str] = frozenset()
    """Stages whose overrun has been reported."""
    planned_us: int | None = None
    """When the plan was made: the stage ended, or else began last."""
    captured_us: Mapping[str, int] = field(default_factory=dict[str, int])
    told_us: Mapping[str, int] = field(default_factory=dict[str, int])
    """By feature, when its capture was reported."""
    fresh_at_plan: Mapping[str, int] = field(default_factory=dict[str, int])
    """What had been captured when the plan was made."""
    spread: Mapping[str, int] | None = None
    actions: Mapping[str, ActionState] = field(default_factory=dict[str, ActionState])
    ledger: KnownKeys = field(default_factory=KnownKeys)
    approvals: tuple[Approval, ...] = ()
    bypass_by: str | None = None
    rung: RungTaken | None = None
    """The rung that something went on from."""
    stage_rung: RungTaken | None = None
    """The strictest rung that a stage was put on: it holds to the end, for time does not come back."""
    abstained: RungTaken | None = None
    """The last word, while it is to abstain."""
    late: bool = False
    """Whether it has been reported that the deadline passed."""
    ended_us: int | None = None
    closed: DecisionClosed | None = None
    resumed_at: int = 0
    """Sequence of the entry that resumed it last."""
    conflicts: Mapping[str, ActionState] = field(default_factory=dict[str, ActionState])
    """By hash, contracts that were refused because their key or id stands for another."""
    bypasses: int = 0
    """Dispatches that nothing allowed."""
    unasked: Mapping[str, str] = field(default_factory=dict[str, str])
    """By id, the type of each action that was sent before the gate was asked about it."""
    breaches: frozenset[str] = frozenset()
    """Features that were too old when they were to be used."""
    oldest_ms: int | None = None
    used_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    """By feature, its greatest age at a question to the gate."""
    calls_seen: int = 0
    """Tool calls that the tool gate let through for the task."""
    said: tuple[Said, ...] = ()
    """Approvals, freezes and resumptions, in their order."""
    switched: tuple[SwitchEngaged | SwitchReleased, ...] = ()
    """How the kill-switch was turned meanwhile; from its own log, for an episode."""
    seen: Mapping[str, QuestionTold] = field(default_factory=dict[str, QuestionTold])
    """By question, its content."""
    chain: str = ""
    """A hash over all its entries, each linked to those before."""

    @property
    def finding(self) -> VerificationResult | None:
        """The worst that verifiers last found of an action; None when none has run."""
        found = [each.verification for each in self.actions.values()]
        return max((each.result for each in found if each), key=_BADNESS.__getitem__, default=None)

    @property
    def is_open(self) -> bool:
        """Whether anything may still happen to it."""
        return self.closed is None and self.ended_us is None

    def elapsed_ms(self, now_us: int) -> int:
        """Time since it began, until it ended; never less than at its last entry."""
        until = self.ended_us if self.ended_us is not None else max(now_us, self.last_us)
        return ceil_ms(until - self.begun.at_us)

    def stage_ms(self, now_us: int) -> dict[str, int]:
        """Time by stage, of those that have begun."""
        spent = dict(self.spent_us)
        if self.stage is not None:
            running = max(now_us, self.last_us) - self.stage_us
            spent[self.stage] = spent.get(self.stage, 0) + running
        return {stage: ceil_ms(taken) for stage, taken in spent.items()}

    def signals(self, now_us: int) -> Signals:
        """What was measured, at a moment; what nobody reported is missing."""
        spread = self.spread
        if spread is not None:
            # A runtime can't report fewer calls than our own tool gate let through.
            spread = {**spread, "tool_calls": max(spread["tool_calls"], self.calls_seen)}
        return Signals(
            now_us, self.elapsed_ms(now_us), self.stage_ms(now_us), self.captured_us, spread
        )

    def under_key(self, contract: SafeActionContract) -> Iterable[ActionState]:
        """Every action with the key of a contract: they have one body, and ids of their own."""
        key = key_of(contract)
        return (each for each in self.actions.values() if key_of(each.contract) == key)

    def due_us(self) -> int | None:
        """When time must be looked at next: the first moment over a budget or the deadline."""
        if not self.is_open:
            return None
        due: list[int] = []
        if not self.late:
            due.append(self.begun.at_us + self.envelope.dte.deadline_ms * US_PER_MS + 1)
        if self.stage is not None and self.stage not in self.overrun:
            left = self.budget_ms(self.stage) * US_PER_MS - self.spent_us.get(self.stage, 0)
            due.append(self.stage_us + max(0, left) + 1)
        first = min(due, default=LATEST_US + 1)
        return first if first <= LATEST_US else None

    def budget_ms(self, stage: str) -> int:
        """What a stage may take."""
        return int(getattr(self.envelope.dte.stage_budgets_ms, stage))

    def life(self, switch: Switch) -> EpisodeStanding:
        """Where it stands, the kill-switch included.

        What was active at any time while the switch was engaged is frozen, also what began or was resumed in the very
        moment it was engaged, by somebody who did not know yet.
        """
        touched = switch.halted is not None or switch.released_at > max(
            self.begun_at, self.resumed_at
        )
        if self.standing.state is EpisodeState.ACTIVE and touched and switch.last is not None:
            return replace(self.standing, state=EpisodeState.FROZEN, authority=switch.last)
        return self.standing


def ceil_ms(microseconds: int) -> int:
    """Whole milliseconds, rounded up: a microsecond over is over."""
    return max(0, -(-microseconds // US_PER_MS))


def fold_switch(switch: Switch, entry: SwitchEngaged | SwitchReleased, sequence: int) -> Switch:
    """The switch after one entry of its log."""
    said = Authority(entry.by, entry.reason)
    seen = {**switch.seen, entry.request_id: entry.kind}
    if isinstance(entry, SwitchEngaged):
        halted = switch.halted or said
        return replace(switch, halted=halted, last=said, seen=seen, at_us=entry.at_us)
    return replace(switch, released_at=sequence, halted=None, seen=seen, at_us=entry.at_us)


def fold_all(entries: Iterable[tuple[int, AnyDecisionEntry]]) -> Deciding | None:
    """The decision after all entries of a log; None when none has begun."""
    state: Deciding | None = None
    for sequence, entry in entries:
        state = fold(state, entry, sequence)
    return state


def fold(state: Deciding | None, entry: AnyDecisionEntry, sequence: int) -> Deciding:
    """The decision after one more entry."""
    if isinstance(entry, DecisionBegun):
        return _begun(state, entry, sequence)
    if state is None or isinstance(entry, SwitchEngaged | SwitchReleased):
        raise ContractError(f"ACTIONS {sequence}: {entry.kind} stands where a decision must begin")
    return replace(
        _changed(state, entry, sequence),
        last_us=entry.at_us,
        entries=state.entries + 1,
        seen={**state.seen, entry.request_id: told_by(entry)},
        chain=_linked(state.chain, entry),
    )


def _linked(chain: str, entry: AnyDecisionEntry) -> str:
    return content_hash([chain, content_hash(entry)])


def _begun(state: Deciding | None, entry: DecisionBegun, sequence: int) -> Deciding:
    authority = Authority(entry.agent_id, "it began")
    return Deciding(
        Envelope.of(entry.dte),
        entry,
        sequence,
        EpisodeStanding(entry.episode_id, entry.agent_id, EpisodeState.ACTIVE, authority),
        entry.at_us,
        1,
        # What was done under a key stays done, also when the task is opened again.
        ledger=KnownKeys() if state is None else state.ledger,
        seen={entry.request_id: told_by(entry)},
        chain=_linked("", entry),
    )


def _changed(state: Deciding, entry: AnyDecisionEntry, sequence: int) -> Deciding:
    match entry:
        case StageBegun():
            begun = replace(_stopped(state, entry.at_us), stage=entry.stage, stage_us=entry.at_us)
            begun = _held(begun, entry.stage, entry.rung)
            return _on_rung(_planned(begun, entry.stage, entry.at_us), entry.rung)
        case StageEnded():
            return _planned(_stopped(state, entry.at_us), entry.stage, entry.at_us)
        case ContextCaptured():
            captured = {**state.captured_us, entry.feature: entry.captured_at_us}
            told_us = {**state.told_us, entry.feature: entry.at_us}
            return replace(state, captured_us=captured, told_us=told_us)
        case SpreadCounted():
            before = state.spread or {}
            most = {name: max(before.get(name, 0), getattr(entry, name)) for name in COUNTED}
            return replace(state, spread=most)
        case ActionJudged():
            return _judged(state, entry)
        case ActionApproved():
            approval = Approval(entry.approver, entry.at_us, entry.action_hash)
            approvals = (*state.approvals, approval)
            return replace(state, approvals=approvals, said=(*state.said, entry))
        case BypassApproved():
            return replace(state, bypass_by=entry.approver, said=(*state.said, entry))
        case ActionDispatched():
            return _dispatched(state, entry)
        case ActionFinished():
            return _finished(state, entry)
        case ActionVerified():
            return _verified(state, entry)
        case Degraded():
            return _on_rung(_held(state, entry.stage, entry.rung), entry.rung)
        case DeadlinePassed():
            return replace(_on_rung(state, entry.rung), late=True)
        case StageOverrun():
            over = replace(state, overrun=state.overrun | {entry.stage})
            return _on_rung(_held(over, entry.stage, entry.rung), entry.rung)
        case DecisionFrozen():
            state = replace(state, said=(*state.said, entry))
            return _moved(state, EpisodeState.FROZEN, entry.by, entry.reason)
        case DecisionResumed():
            state = replace(state, said=(*state.said, entry), resumed_at=sequence)
            return _moved(state, EpisodeState.ACTIVE, entry.by, entry.reason)
        case DecisionEnded():
            return replace(_stopped(state, entry.at_us), ended_us=entry.at_us)
        case DecisionClosed():
            ended = entry.at_us if state.ended_us is None else state.ended_us
            seen = max(state.calls_seen, entry.calls_seen)
            state = replace(state, calls_seen=seen)
            closed = replace(_stopped(state, entry.at_us), ended_us=ended, closed=entry)
            return _moved(closed, EpisodeState.SEALED, entry.agent_id, "its task was closed")
        case _:
            raise ContractError(f"ACTIONS {sequence}: {entry.kind} is not folded")


def _stopped(state: Deciding, at_us: int) -> Deciding:
    """The running stage, if there is one, has ended."""
    if state.stage is None:
        return state
    spent = state.spent_us.get(state.stage, 0) + at_us - state.stage_us
    return replace(state, stage=None, spent_us={**state.spent_us, state.stage: spent})


def _planned(state: Deciding, stage: str, at_us: int) -> Deciding:
    if stage != "plan":
        return state
    return replace(state, planned_us=at_us, fresh_at_plan=state.captured_us)


def _judged(state: Deciding, entry: ActionJudged) -> Deciding:
    after = ActionState(
        entry.contract,
        entry.action_hash,
        entry.decision,
        entry.request_id,
        verdict_of(entry),
        entry.at_us,
        entry.reasons,
        entry.rung,
    )
    state = replace(state, calls_seen=max(state.calls_seen, entry.calls_seen))
    if entry.standing == "conflict":
        return replace(state, conflicts={**state.conflicts, entry.action_hash: after})
    action_id = entry.contract.action_id
    known = state.actions.get(action_id)
    if known is not None:
        after = replace(
            after,
            dispatches=known.dispatches,
            outcome=known.outcome,
            differs=known.differs,
            unseen=known.unseen,
            checks=known.checks,
        )
    ledger, _ = ask(state.ledger, entry.contract)
    stale = {each.field for each in entry.violations if each.gate == "feature_ttl"}
    ages = [age for age in (state.oldest_ms, entry.oldest_ms) if age is not None]
    state = replace(
        state,
        actions={**state.actions, action_id: after},
        ledger=ledger,
        breaches=state.breaches | stale,
        oldest_ms=max(ages, default=None),
        used_ms=_used(state, entry.at_us),
    )
    if entry.decision == "allow":
        # It goes on, so it has not abstained after all.
        state = replace(state, abstained=state.abstained if state.late else None)
    elif entry.rung is not None and entry.rung.step is not DegradeStep.ABSTAIN:
        return state  # nothing went on from that rung; it stands with the action
    return _on_rung(state, entry.rung)


def _used(state: Deciding, at_us: int) -> dict[str, int]:
    """The greatest age of each feature that was captured by then."""
    ages = {name: ceil_ms(at_us - at) for name, at in state.captured_us.items()}
    return {
        **state.used_ms,
        **{name: max(age, state.used_ms.get(name, 0)) for name, age in ages.items()},
    }


def _held(state: Deciding, stage: str, rung: RungTaken | None) -> Deciding:
    """The stage's rung holds from here on, unless a stricter one does already."""
    if rung is None or rung.step is None:
        return state
    before = state.stage_rung
    if before is not None and (before.step is rung.step or stricter(before.step, rung.step)):
        return state
    since = rung.model_copy(update={"rationale": {**rung.rationale, "since_stage": stage}})
    return replace(state, stage_rung=since)


def _on_rung(state: Deciding, rung: RungTaken | None) -> Deciding:
    if rung is None or rung.step is None:
        return state
    if rung.step is DegradeStep.ABSTAIN:
        return replace(state, abstained=rung)
    if state.rung is not None and state.rung.step is DegradeStep.BYPASS:
        return state  # nothing that follows undoes a bypass
    return replace(state, rung=rung)


def _dispatched(state: Deciding, entry: ActionDispatched) -> Deciding:
    known = state.actions.get(entry.action_id)
    if entry.problem is not None:
        state = replace(state, bypasses=state.bypasses + 1)
    if known is None:
        unasked = {**state.unasked, entry.action_id: entry.action_type}
        return replace(state, unasked=unasked)
    after = replace(known, dispatches=known.dispatches + 1)
    return replace(state, actions={**state.actions, entry.action_id: after})


def _finished(state: Deciding, entry: ActionFinished) -> Deciding:
    known = state.actions.get(entry.action_id)
    if known is None:
        return state
    expected, observed = entry.expected, entry.observed
    after = replace(
        known,
        outcome=entry.outcome,
        differs=tuple(
            name
            for name, value in expected.items()
            if name in observed and not same(observed[name], value)
        ),
        unseen=tuple(name for name in expected if name not in observed),
    )
    try:
        ledger = finish(state.ledger, known.contract, entry.result_hash)
    except ResultConflict:
        ledger = state.ledger  # the first result stays
    return replace(state, actions={**state.actions, entry.action_id: after}, ledger=ledger)


def _verified(state: Deciding, entry: ActionVerified) -> Deciding:
    known = state.actions.get(entry.action_id)
    actions = state.actions
    if known is not None:
        checks = {**known.checks, entry.check_hash or "": entry.verification}
        after = replace(known, checks=checks)
        actions = {**state.actions, entry.action_id: after}
    return _on_rung(replace(state, actions=actions), entry.rung)


def _moved(state: Deciding, to: EpisodeState, by: str, reason: str) -> Deciding:
    standing = replace(state.standing, state=to, authority=Authority(by, reason))
    return replace(state, standing=standing)
