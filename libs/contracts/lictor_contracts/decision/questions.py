"""Questions about a governed decision: each takes what is known of it and gives an entry for its log, and an answer.

Nothing here reads a clock: the moment of the question is part of it. What really happened is written down also when it
should not have: an action that was sent without an allowance, or after the end.
"""

from collections import Counter
from dataclasses import dataclass, replace

from lictor_contracts.action.gate import MAX_ENTRIES
from lictor_contracts.action.judgement import is_somebody, one_person
from lictor_contracts.decision.episode_states import Authority, Moved, StepRefusal, advance
from lictor_contracts.decision.outcome import (
    deadline_rung,
    final_rung,
    not_done,
    over_limits,
    rung_of,
    settled_outcome,
    settled_verification,
    unverified,
)
from lictor_contracts.decision.question_stamp import (
    Decided,
    QuestionStamp,
    done,
    entry_id,
    make,
    moment,
    not_begun,
    refused,
    told_violation,
    used_for_another,
    utc_text,
)
from lictor_contracts.decision.state import LATEST_US, Deciding, Switch, fold
from lictor_contracts.envelope.bounds import US_PER_MS
from lictor_contracts.envelope.ladder import LadderInput, choose
from lictor_schema.contracts.decision_log import (
    ActionApproved,
    BypassApproved,
    CallsSince,
    DeadlinePassed,
    DecisionBegun,
    DecisionClosed,
    DecisionFrozen,
    DecisionResumed,
    StageOverrun,
)
from lictor_schema.contracts.decision_questions import DecisionBeginAnswer
from lictor_schema.contracts.envelope import DTE, DegradeStep
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.decisions.decision import PackStamp
from lictor_schema.seals.episode import EpisodeState, OutcomeCode


@dataclass(frozen=True, slots=True)
class Governing:
    """What a decision is to be governed by: its task according to the records, and the envelope for its type."""

    episode_id: str
    decision_type: str
    runtime: str
    dte: DTE | None
    pack: PackStamp | None
    switch_sequence: int | None = None
    """Where in EVENTS the pack was put in force."""
    calls_since: CallsSince | None = None
    """From where on tool calls count."""


def begin(
    state: Deciding | None, switch: Switch, asked: QuestionStamp, governing: Governing
) -> Decided:
    """Begin a decision under the envelope of its type; begun again, it goes on as it is."""
    if governing.runtime != asked.runtime:
        return refused(
            asked,
            "other-runtime",
            f"task {asked.task_id} belongs to runtime {governing.runtime}",
            "let the runtime that started the task begin its decision",
        )
    if state is not None and state.begun.episode_id == governing.episode_id:
        return Decided(None, _begun_answer(state.begun, asked, duplicate=True))
    if switch.halted is not None:
        return refused(
            asked,
            "halted",
            f"the kill-switch is engaged by {switch.halted.by}: {switch.halted.reason}",
            "have it released first (`lictor contract release`)",
        )
    if governing.dte is None or governing.pack is None:
        return refused(
            asked,
            "no-envelope",
            f"no pack in force has an envelope for decision type {governing.decision_type}",
            "add one to a pack (`spec.envelopes`) and put it in force; see docs/how-to/release-packs.md",
        )
    if state is not None and state.closed is None:
        return refused(
            asked,
            "open",
            "an earlier decision of this task is still open",
            "close the task first, or start another",
        )
    return _begin(state, asked, governing, governing.dte, governing.pack)


def _begin(
    state: Deciding | None, asked: QuestionStamp, governing: Governing, dte: DTE, pack: PackStamp
) -> Decided:
    entry = DecisionBegun(
        kind="decision_begun",
        entry_id=entry_id(asked, "decision_begun"),
        at_us=moment(state, asked),
        request_id=asked.request_id,
        runtime=asked.runtime,
        task_id=asked.task_id,
        agent_id=asked.agent_id,
        decision_type=governing.decision_type,
        episode_id=governing.episode_id,
        dte=dte,
        dte_hash=content_hash(dte),
        pack=pack,
        switch_sequence=governing.switch_sequence,
        calls_since=governing.calls_since,
    )
    due = fold(state, entry, asked.after + 1).due_us()
    entry = entry.model_copy(update={"next_due_us": due})
    return Decided(entry, _begun_answer(entry, asked, duplicate=False))


def _begun_answer(
    begun: DecisionBegun, asked: QuestionStamp, *, duplicate: bool
) -> DecisionBeginAnswer:
    due = begun.at_us + begun.dte.deadline_ms * US_PER_MS
    return DecisionBeginAnswer(
        request_id=asked.request_id,
        ok=True,
        reason="it has begun already, and goes on" if duplicate else "it has begun",
        duplicate=duplicate,
        episode_id=begun.episode_id,
        decision_type=begun.decision_type,
        dte_hash=begun.dte_hash,
        pack=begun.pack,
        deadline_at=utc_text(min(due, LATEST_US)),
    )


def approve(
    state: Deciding | None, asked: QuestionStamp, *, by: str, reason: str, action_hash: str | None
) -> Decided:
    """Note that somebody other than the actor approves one exact action, or the ladder's bypass."""
    if state is None:
        return not_begun(asked)
    before = state.seen.get(asked.request_id)
    if before is not None:
        kind = "bypass_approved" if action_hash is None else "action_approved"
        if not before.is_that(kind, approver=by, action_hash=action_hash):
            return used_for_another(asked, before.kind)
        return Decided(None, done(asked, "it was approved before", duplicate=True))
    if not state.is_open or state.entries >= MAX_ENTRIES:
        return refused(asked, "ended", "the decision has ended", "there is nothing to approve")
    if not is_somebody(by) or not reason.strip():
        return refused(asked, "nobody", "nobody approves, or for no reason", "say who, and why")
    if one_person(by, state.begun.agent_id):
        return refused(asked, "own-approver", f"{by} is the actor", "have somebody else approve it")
    if action_hash is None:
        return _approve_bypass(state, asked, by, reason)
    if all(each.action_hash != action_hash for each in state.actions.values()):
        return refused(
            asked,
            "unknown-action",
            f"no action with the contract {action_hash} was asked for",
            "see `lictor contract show`, and approve what it lists",
        )
    entry = make(
        ActionApproved,
        "action_approved",
        state,
        asked,
        approver=by,
        action_hash=action_hash,
        reason=reason,
    )
    return Decided(entry, done(asked, f"{by} approves {action_hash}"))


def _approve_bypass(state: Deciding, asked: QuestionStamp, by: str, reason: str) -> Decided:
    ladder = state.envelope.dte.degrade_ladder
    named = next((each.approver for each in ladder if each.step is DegradeStep.BYPASS), None)
    if named != by:
        why = "has no bypass" if named is None else f"names {named} for the bypass"
        return refused(
            asked, "bypass", f"the ladder {why}, not {by}", "nobody else can approve a bypass"
        )
    entry = make(BypassApproved, "bypass_approved", state, asked, approver=by, reason=reason)
    return Decided(entry, done(asked, f"{by} approves that the decision is bypassed"))


def freeze(
    state: Deciding | None, switch: Switch, asked: QuestionStamp, *, by: str, reason: str
) -> Decided:
    """Stop a decision until somebody resumes it."""
    return _move(state, switch, asked, EpisodeState.FROZEN, Authority(by, reason))


def resume(
    state: Deciding | None, switch: Switch, asked: QuestionStamp, *, by: str, reason: str
) -> Decided:
    """Let a frozen decision go on; its own actor can't."""
    return _move(state, switch, asked, EpisodeState.ACTIVE, Authority(by, reason))


def _move(
    state: Deciding | None,
    switch: Switch,
    asked: QuestionStamp,
    to: EpisodeState,
    authority: Authority,
) -> Decided:
    if state is None:
        return not_begun(asked)
    before = state.seen.get(asked.request_id)
    if before is not None:
        kind = "decision_frozen" if to is EpisodeState.FROZEN else "decision_resumed"
        if not before.is_that(kind, by=authority.by):
            return used_for_another(asked, before.kind)
        return Decided(None, done(asked, "it was done before", duplicate=True))
    standing = state.life(switch)
    moved = advance(standing, Moved(standing.episode_id, to, authority), halted=switch.halted)
    if isinstance(moved, StepRefusal):
        return refused(asked, "life", moved.reason, moved.remedy)
    if to is EpisodeState.FROZEN:
        entry = make(
            DecisionFrozen,
            "decision_frozen",
            state,
            asked,
            by=authority.by,
            reason=authority.reason,
        )
    else:
        entry = make(
            DecisionResumed,
            "decision_resumed",
            state,
            asked,
            by=authority.by,
            reason=authority.reason,
        )
    return Decided(entry, done(asked, f"it is {to.value} now"))


def tick(state: Deciding | None, asked: QuestionStamp) -> Decided:
    """Look at the time: the deadline or a stage's budget may have run out; else nothing changes."""
    nothing = Decided(None, done(asked, "nothing is due"))
    if state is None or not state.is_open:
        return nothing
    now = moment(state, asked)
    elapsed = state.elapsed_ms(now)
    deadline = state.envelope.dte.deadline_ms
    if elapsed > deadline and not state.late:
        rung = deadline_rung(state, elapsed)
        entry = make(
            DeadlinePassed,
            "deadline_passed",
            state,
            asked,
            elapsed_ms=elapsed,
            deadline_ms=deadline,
            rung=rung,
        )
        return Decided(entry, done(asked, "the deadline has passed"))
    stage = state.stage
    if stage is None or stage in state.overrun:
        return nothing
    took, budget = state.stage_ms(now)[stage], state.budget_ms(stage)
    if took <= budget:
        return nothing
    over = [
        each
        for each in state.envelope.violations(state.signals(now))
        if each.field == f"stageBudgetsMs.{stage}"
    ]
    choice = choose(state.envelope, LadderInput(tuple(over), deadline - elapsed))
    overrun = make(
        StageOverrun,
        "stage_overrun",
        state,
        asked,
        stage=stage,
        took_ms=took,
        budget_ms=budget,
        rung=rung_of(choice),
    )
    return Decided(overrun, done(asked, f"the stage {stage} is over its budget"))


def close(
    state: Deciding,
    switch: Switch,
    asked: QuestionStamp,
    *,
    record_id: str,
    claimed: OutcomeCode,
    calls_seen: int = 0,
) -> Decided:
    """End the log with what may be disclosed about the decision; a frozen one can't be closed.

    ``calls_seen`` is what the tool gate let through: nobody may have asked for an action after the last of them.
    """
    if state.closed is not None:
        return Decided(None, done(asked, "it is closed", duplicate=True))
    standing = state.life(switch)
    authority = Authority(state.begun.agent_id, "its task was closed")
    moved = advance(
        standing, Moved(standing.episode_id, EpisodeState.SEALED, authority), halted=switch.halted
    )
    if isinstance(moved, StepRefusal):
        said = f"it was frozen by {standing.authority.by}: {standing.authority.reason}"
        return refused(asked, "frozen", f"{moved.reason}; {said}", "resume it first")
    now = moment(state, asked)
    state = replace(state, calls_seen=max(state.calls_seen, calls_seen))
    rung, verification = final_rung(state, now), settled_verification(state)
    missing = Counter(each.status for each in not_done(state))
    entry = make(
        DecisionClosed,
        "decision_closed",
        state,
        asked,
        record_id=record_id,
        elapsed_ms=state.elapsed_ms(now),
        deadline_ms=state.envelope.dte.deadline_ms,
        claimed=claimed,
        outcome=settled_outcome(state, rung, verification, claimed, now),
        verification=verification,
        unverified=unverified(state),
        refused=missing["refused"],
        unapproved=missing["never_approved"],
        unsent=missing["never_sent"],
        calls_seen=calls_seen,
        violations=tuple(map(told_violation, over_limits(state, now))),
    )
    return Decided(entry, done(asked, "it is closed"))
