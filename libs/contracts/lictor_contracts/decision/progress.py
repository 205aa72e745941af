"""What a runtime reports about its decision: stages, captures, spread, dispatches, results, findings, the end.

A report is repeated under the id of its question, and counts once. What a frozen decision may not do is refused;
what was done in spite of it is written down.
"""

from collections.abc import Mapping

from pydantic import TypeAdapter

from lictor_contracts.action.gate import MAX_ENTRIES
from lictor_contracts.action.idempotency import key_of
from lictor_contracts.action.judgement import approvals_of, unanswered
from lictor_contracts.action.verification import METHODS, Methods, checking
from lictor_contracts.action.verification import verify as run_check
from lictor_contracts.decision.outcome import rung_now, rung_of
from lictor_contracts.decision.question_stamp import (
    Decided,
    QuestionStamp,
    done,
    make,
    moment,
    not_begun,
    refused,
    used_for_another,
)
from lictor_contracts.decision.question_stamp import told_violation as told
from lictor_contracts.decision.state import ActionState, Deciding, Switch
from lictor_contracts.envelope.bounds import EnvelopeBound
from lictor_contracts.envelope.ladder import LadderInput, choose
from lictor_contracts.errors import ContractError
from lictor_schema.contracts.decision_log import (
    ActionDispatched,
    ActionFinished,
    ActionVerified,
    ContextCaptured,
    DecisionEnded,
    Degraded,
    RungTaken,
    SpreadCounted,
    StageBegun,
    StageEnded,
)
from lictor_schema.contracts.decision_questions import (
    AnyReport,
    CaptureReport,
    ContractAnswer,
    DispatchReport,
    EndReport,
    FinishReport,
    SpreadReport,
    StageBeginReport,
    StageEndReport,
    VerifyAnswer,
)
from lictor_schema.contracts.envelope import DegradeStep
from lictor_schema.contracts.verification import VerificationResult
from lictor_schema.core.canonical_json import content_hash
from lictor_schema.seals.episode import EpisodeState

# What was sent is written down also in a log that is full, but not without end.
_MOST_ENTRIES = 2 * MAX_ENTRIES
_STOPS = (DegradeStep.ABSTAIN, DegradeStep.HITL)


def report(
    state: Deciding | None,
    switch: Switch,
    asked: QuestionStamp,
    said: AnyReport,
    captured_at_us: int = 0,
) -> Decided:
    """Record what a runtime reports; ``captured_at_us`` is the time in a report of a capture."""
    if state is None:
        return not_begun(asked)
    if asked.request_id in state.seen:
        return _again(state, switch, asked, said, captured_at_us)
    if isinstance(said, DispatchReport):
        return _dispatched(state, switch, asked, said)
    if not state.is_open:
        return refused(
            asked, "ended", "the decision has ended", "nothing more can be reported about it"
        )
    if isinstance(said, FinishReport):
        return _finished(state, asked, said)
    if isinstance(said, EndReport):
        return _ended(state, asked)
    frozen = _frozen(state, switch, asked) or _full(state, asked)
    if frozen is not None:
        return frozen
    match said:
        case StageBeginReport():
            return _stage_begun(state, asked, said)
        case StageEndReport():
            return _stage_ended(state, asked, said)
        case CaptureReport():
            return _captured(state, asked, said, captured_at_us)
        case SpreadReport():
            return _counted(state, asked, said)


def verify(
    state: Deciding | None,
    switch: Switch,
    asked: QuestionStamp,
    *,
    action_id: str,
    method: str,
    expectation: object,
    observed: Mapping[str, object] | None,
    took_ms: int,
    methods: Methods = METHODS,
) -> Decided:
    """Hold what was read back against what was expected of an action that was sent."""
    if state is None:
        return not_begun(asked)
    before = state.seen.get(asked.request_id)
    if before is not None and not before.is_that("action_verified", action_id=action_id):
        return used_for_another(asked, before.kind)
    if before is not None:
        known = state.actions.get(action_id)
        answer = done(asked, "it was verified before", duplicate=True).model_dump()
        found = None if known is None else known.verification
        return Decided(None, VerifyAnswer(**answer, verification=found))
    if not state.is_open:
        return refused(asked, "ended", "the decision has ended", "verify before it ends")
    stopped = _frozen(state, switch, asked) or _full(state, asked)
    if stopped is not None:
        return stopped
    known = state.actions.get(action_id)
    if known is None or not known.dispatches:
        return refused(
            asked,
            "not-dispatched",
            f"nobody told that action {action_id} was dispatched",
            "report the dispatch first; there is nothing to verify before it",
        )
    try:
        check = checking(methods, state.envelope, method=method, expectation=expectation)
    except ContractError as error:
        return refused(asked, "verification", str(error), "correct it, and verify again")
    now = moment(state, asked)
    # What the log measured counts too: a verifier can't take less time than the stage it runs in.
    running = state.stage_ms(now).get("verify", 0) if state.stage == "verify" else 0
    found = run_check(
        check,
        state.envelope,
        tier=known.contract.blast_radius_tier,
        method=method,
        observed=observed,
        took_ms=max(took_ms, running),
    )
    choice = None
    if found.result is not VerificationResult.PASS:
        remaining = state.envelope.dte.deadline_ms - state.elapsed_ms(now)
        choice = choose(
            state.envelope, LadderInput((), remaining, found.result, approved_by=state.bypass_by)
        )
    rung = None if choice is None else rung_of(choice)
    entry = make(
        ActionVerified,
        "action_verified",
        state,
        asked,
        action_id=action_id,
        verification=found,
        timed_out=bool((found.details or {}).get("timed_out")),
        rung=rung,
        check_hash=content_hash([method, _plain(expectation)]),
    )
    said = f"{found.result.value}: {found.explanation}"
    answer = done(asked, said).model_copy(update={"rung": rung}).model_dump()
    return Decided(entry, VerifyAnswer(**answer, verification=found))


def _plain(expectation: object) -> object:
    """An expectation as JSON, by which the same check is known again."""
    return TypeAdapter(object).dump_python(expectation, mode="json", by_alias=True)


def _again(
    state: Deciding, switch: Switch, asked: QuestionStamp, said: AnyReport, captured_at_us: int
) -> Decided:
    before = state.seen[asked.request_id]
    if said.what == "stage_begun" and before.is_that("degraded", said):
        return refused(asked, "degraded", "the stage did not begin", "see the first answer")
    if not before.is_that(said.what, said, captured_at_us=captured_at_us):
        return used_for_another(asked, before.kind)
    if isinstance(said, DispatchReport):
        # A repeated question means a lost answer: a refusal stands, and what was accepted must still hold.
        problem = before.problem
        if problem is None:
            problem, _ = _problem(state, switch, asked, said, told_before=1)
        if problem is not None:
            return Decided(None, _bypassed(asked, said, problem))
    return Decided(None, done(asked, "it was reported before", duplicate=True))


def _frozen(state: Deciding, switch: Switch, asked: QuestionStamp) -> Decided | None:
    life = state.life(switch)
    if life.state is not EpisodeState.FROZEN:
        return None
    return refused(
        asked,
        "frozen",
        f"the decision is frozen by {life.authority.by}: {life.authority.reason}",
        "have somebody other than its actor resume it (`lictor contract resume`)",
    )


def _full(state: Deciding, asked: QuestionStamp) -> Decided | None:
    if state.entries < MAX_ENTRIES:
        return None
    return refused(
        asked, "too-long", "the decision's log is full", "split the work into several tasks"
    )


def _stage_begun(state: Deciding, asked: QuestionStamp, said: StageBeginReport) -> Decided:
    if state.stage is not None:
        return refused(
            asked, "stage", f"the stage {state.stage} has not ended", "end it before another begins"
        )
    now = moment(state, asked)
    elapsed = state.elapsed_ms(now)
    short = state.envelope.before_stage(said.stage, elapsed_ms=elapsed)
    if not short:
        entry = make(StageBegun, "stage_begun", state, asked, stage=said.stage)
        return Decided(entry, done(asked, f"the stage {said.stage} has begun"))
    remaining = state.envelope.dte.deadline_ms - elapsed
    choice = choose(
        state.envelope, LadderInput(short, remaining, state.finding, approved_by=state.bypass_by)
    )
    rung, violations = rung_of(choice), tuple(map(told, short))
    more = {"rung": rung, "violations": violations}
    if choice.step in _STOPS:
        entry = make(Degraded, "degraded", state, asked, stage=said.stage, **more)
        refusal = refused(
            asked,
            "degraded",
            f"the stage {said.stage} does not begin: {short[0].message}",
            f"take the rung {choice.step.value} instead" if choice.step else "stop here",
        )
        return Decided(entry, refusal.answer.model_copy(update=more))
    begun = make(StageBegun, "stage_begun", state, asked, stage=said.stage, **more)
    step = "" if choice.step is None else f", on the rung {choice.step.value}"
    answer = done(asked, f"the stage {said.stage} has begun{step}: {short[0].message}")
    return Decided(begun, answer.model_copy(update=more))


def _stage_ended(state: Deciding, asked: QuestionStamp, said: StageEndReport) -> Decided:
    if state.stage != said.stage:
        return refused(
            asked, "stage", f"the stage {said.stage} has not begun", "report its begin first"
        )
    took = state.stage_ms(moment(state, asked))[said.stage]
    budget = state.budget_ms(said.stage)
    entry = make(
        StageEnded, "stage_ended", state, asked, stage=said.stage, took_ms=took, budget_ms=budget
    )
    return Decided(entry, done(asked, f"the stage {said.stage} took {took} ms"))


def _captured(state: Deciding, asked: QuestionStamp, said: CaptureReport, at_us: int) -> Decided:
    now = moment(state, asked)
    if not 0 < at_us <= now:
        return refused(
            asked,
            "capture-time",
            f"{said.feature} can't have been captured after this moment",
            "correct the clock that said so, or capture it again",
        )
    entry = make(
        ContextCaptured,
        "context_captured",
        state,
        asked,
        feature=said.feature,
        captured_at_us=at_us,
        value=said.value,
    )
    return Decided(entry, done(asked, f"{said.feature} is noted"))


def _counted(state: Deciding, asked: QuestionStamp, said: SpreadReport) -> Decided:
    counts = said.model_dump(exclude={"what"})
    now = moment(state, asked)
    counted = {**counts, "tool_calls": max(counts["tool_calls"], state.calls_seen)}
    over = [
        told(each)
        for each in state.envelope.violations(state.signals(now)._replace(counts=counted))
        if each.gate is EnvelopeBound.LIMITS
    ]
    entry = make(SpreadCounted, "spread_counted", state, asked, **counts, violations=tuple(over))
    answer = done(asked, "it is counted" if not over else over[0].message)
    return Decided(entry, answer.model_copy(update={"violations": tuple(over)}))


def _dispatched(
    state: Deciding, switch: Switch, asked: QuestionStamp, said: DispatchReport
) -> Decided:
    if state.entries >= _MOST_ENTRIES:
        return refused(
            asked, "too-long", "the decision's log is full", "dispatch nothing more in this task"
        )
    problem, rung = _problem(state, switch, asked, said)
    entry = make(
        ActionDispatched,
        "action_dispatched",
        state,
        asked,
        action_id=said.action_id,
        action_type=said.action_type,
        action_hash=said.action_hash,
        problem=problem,
    )
    if problem is None:
        answer = done(asked, f"action {said.action_id} is dispatched")
    else:
        answer = _bypassed(asked, said, problem)
    return Decided(entry, answer.model_copy(update={"rung": rung}))


def _bypassed(asked: QuestionStamp, said: DispatchReport, problem: str) -> ContractAnswer:
    return refused(
        asked,
        "bypass",
        f"action {said.action_id} was dispatched: {problem}; that is recorded",
        "ask the action gate before an action is dispatched, and only then dispatch it",
    ).answer


def _problem(
    state: Deciding,
    switch: Switch,
    asked: QuestionStamp,
    said: DispatchReport,
    told_before: int = 0,
) -> tuple[str | None, RungTaken | None]:
    """Why no allowance in the log covers a dispatch, and the rung that the ladder takes at this moment.

    Without ids or measured values, for it names a cause. ``told_before`` is how often this very dispatch was reported.
    """
    known = state.actions.get(said.action_id)
    problem = _not_covered(state, switch, said, known, told_before)
    if known is None or problem is not None:
        return problem, None
    # Allowed at one moment and sent at another: what was fresh and in time then may not be any more.
    now_us = moment(state, asked)
    violations = state.envelope.violations(
        state.signals(now_us), tier=known.contract.blast_radius_tier
    )
    approved = approvals_of(state.approvals, known.action_hash, state.begun.agent_id, now_us)
    if unanswered(state.envelope, violations, approved, state.told_us):
        return "after what it was allowed on had run out", None
    remaining = state.envelope.dte.deadline_ms - state.elapsed_ms(now_us)
    rung = rung_now(
        state, LadderInput(violations, remaining, state.finding, approved_by=state.bypass_by)
    )
    if rung.step is None:
        return None, None
    # Where the ladder says that a person must decide, one may have decided.
    if rung.step not in _STOPS or (rung.step is DegradeStep.HITL and approved):
        return None, rung
    return f"after the ladder said {rung.step.value}", rung


def _not_covered(
    state: Deciding,
    switch: Switch,
    said: DispatchReport,
    known: ActionState | None,
    told_before: int,
) -> str | None:
    """Why no allowance is for this dispatch, whatever has changed since."""
    if known is None:
        return "no contract"
    if said.action_type != known.contract.action_type:
        return "another action type than its contract"
    if said.action_hash not in (None, known.action_hash):
        return "another contract than the one judged"
    if known.decision != "allow":
        return "its contract was not allowed"
    if not state.is_open:
        return "after the decision ended"
    if state.life(switch).state is EpisodeState.FROZEN:
        return "while frozen"
    if known.outcome is not None:
        return "after it was finished"
    if known.dispatches - told_before > _retries_allowed(known):
        return "more often than its contract allows"
    if any(each.dispatches and each is not known for each in state.under_key(known.contract)):
        return "under a key that another action was sent with"
    return None


def _retries_allowed(known: ActionState) -> int:
    execution = known.contract.execution
    policy = None if execution is None else execution.retry_policy
    return (policy.max_retries or 0) if policy is not None else 0


def _finished(state: Deciding, asked: QuestionStamp, said: FinishReport) -> Decided:
    known = state.actions.get(said.action_id)
    if known is None or not known.dispatches:
        return refused(
            asked,
            "not-dispatched",
            f"nobody told that action {said.action_id} was dispatched",
            "report the dispatch first",
        )
    claim = state.ledger.claims.get(key_of(known.contract))
    if claim is not None and claim.result not in (None, said.result_hash):
        return refused(
            asked,
            "result-conflict",
            f"action {said.action_id} has another result",
            "the first result stays; find out who carried it out twice",
        )
    if known.outcome is not None:
        return Decided(None, done(asked, "it was reported before", duplicate=True))
    entry = make(
        ActionFinished,
        "action_finished",
        state,
        asked,
        action_id=said.action_id,
        outcome=said.outcome,
        result_hash=said.result_hash,
        expected=said.expected,
        observed=said.observed,
        retries=said.retries,
        retries_allowed=_retries_allowed(known),
    )
    return Decided(entry, done(asked, f"action {said.action_id} is finished"))


def _ended(state: Deciding, asked: QuestionStamp) -> Decided:
    now = moment(state, asked)
    entry = make(
        DecisionEnded,
        "decision_ended",
        state,
        asked,
        elapsed_ms=state.elapsed_ms(now),
        deadline_ms=state.envelope.dte.deadline_ms,
    )
    return Decided(entry, done(asked, "the decision has ended"))
