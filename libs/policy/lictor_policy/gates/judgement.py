"""Gates judged: what the packs and the built-in gate rules make of an act that hasn't happened yet.

The act is turned into the event that will report it, and that event is judged on the task's present state by the same
`step` that will judge it afterwards; the state it leads to is thrown away. So the decision at a gate is the decision
that would follow, and where the answer is stricter, a built-in gate rule denies on top of it and is named.
"""

from typing import NamedTuple

from lictor_policy.conditions.obligation_facts import (
    result_without_followup,
    unforwarded_results,
    unreported_failures,
)
from lictor_policy.decisions.json_text import optional, quoted_list, utc_millis
from lictor_policy.decisions.records import EventVerdict
from lictor_policy.errors import UnacceptableEvent
from lictor_policy.events.content import claim_type_of, has_anchor
from lictor_policy.events.position import EventPosition
from lictor_policy.gates.proposed_event import report_event, spawn_event, start_event
from lictor_policy.judge.config import EvaluatorConfig
from lictor_policy.judge.step import step
from lictor_policy.rules.agent_text import quoted as quoted_words
from lictor_policy.task.obligations import read_owed
from lictor_policy.task.state import TaskState
from lictor_policy.task.transitions import is_valid_path
from lictor_schema.decisions.decision import NO_RULE_MATCHED, Disposition
from lictor_schema.events.claim import COMPLETION_CLAIMS, TaskStatus
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EventType
from lictor_schema.gates.gate import DispatchGateRequest, GateAnswer, GateRequest, ReportGateRequest

REPORT_ANCHOR = "lictor.gate.report-anchor"
SUBAGENT_FAILURE = "lictor.gate.subagent-failure-report"
SILENT_LAUNCH = "lictor.gate.silent-launch"
RESULT_FORWARDING = "lictor.gate.result-forwarding"
OPEN_PROMISE = "lictor.gate.open-promise"
NOT_JUDGED = "lictor.gate.not-judged"
"""The act can't be judged, because the event it would be would be refused."""
TASK_CLOSED = "lictor.gate.task-closed"
TASK_HELD = "lictor.gate.task-held"

_NO_HASH = "sha256:" + "0" * 64
_MAX_WORDS = 8000


class GateJudgement(NamedTuple):
    """An answer, and what it stands on."""

    answer: GateAnswer
    disposition: Disposition | None = None
    judged_as: EventType | None = None
    """The event that the act was judged as."""
    matched_json: str = "[]"
    """The pack rules that fired, as the record lists them."""
    gate_rules: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class GateObjection(NamedTuple):
    """What a built-in gate rule has against an act."""

    policy_id: str
    reason: str
    remedy: str


# What a report gate makes of each decision. Where the packs give a text that may be shown instead, that text is the
# answer; without one, and whenever a human has to look first, the message is held back.
_REPORT: dict[Disposition, str] = {
    Disposition.ALLOW: "allow",
    Disposition.ANNOTATE_PLACEHOLDER: "rewrite",
    Disposition.REWRITE: "rewrite",
    Disposition.DOWNGRADE_STATUS: "rewrite",
    Disposition.FORCE_CHECKPOINT: "rewrite",
    Disposition.REQUIRE_REVIEW: "deny",
    Disposition.BLOCK: "deny",
    Disposition.ESCALATE: "deny",
}

# A dispatch has no text to change: what only changes texts lets it pass, everything stronger holds it back.
_DISPATCH: dict[Disposition, str] = {
    Disposition.ALLOW: "allow",
    Disposition.ANNOTATE_PLACEHOLDER: "allow",
    Disposition.REWRITE: "allow",
    Disposition.DOWNGRADE_STATUS: "deny",
    Disposition.FORCE_CHECKPOINT: "deny",
    Disposition.REQUIRE_REVIEW: "deny",
    Disposition.BLOCK: "deny",
    Disposition.ESCALATE: "deny",
}

_REMEDIES: dict[Disposition, str] = {
    Disposition.ANNOTATE_PLACEHOLDER: "label the message as a placeholder, or bring new evidence",
    Disposition.REWRITE: "give the answers a checkpoint owes, then ask again",
    Disposition.DOWNGRADE_STATUS: "report the status that the evidence bears out",
    Disposition.FORCE_CHECKPOINT: "send the operator a full checkpoint first, then ask again",
    Disposition.REQUIRE_REVIEW: "ask the operator to review it, and wait for the answer",
    Disposition.BLOCK: "mend what the reason names, then ask again",
    Disposition.ESCALATE: "stop and wait for the operator: the case is escalated",
}


def write_gate_record(
    record_id: str,
    recorded_us: int,
    gate: str,
    request: GateRequest,
    judged: GateJudgement,
    config_hash: str,
    state_sequence: int | None,
) -> bytes:
    """The record of an answer, byte for byte as `GateRecord` would write it."""
    disposition = "null" if judged.disposition is None else f'"{judged.disposition.value}"'
    sequence = "null" if state_sequence is None else str(state_sequence)
    return (
        f'{{"record_id":"{record_id}","recorded_at":"{utc_millis(recorded_us)}","gate":"{gate}",'
        f'"request":{request.to_json().decode()},"answer":{judged.answer.to_json().decode()},'
        f'"disposition":{disposition},"judged_as":{optional(judged.judged_as)},'
        f'"matched_rules":{judged.matched_json},'
        f'"gate_rules":{quoted_list(judged.gate_rules)},"missing":{quoted_list(judged.missing)},'
        f'"config_hash":"{config_hash}","state_sequence":{sequence}}}'
    ).encode()


def judge_report(
    state: TaskState | None, request: ReportGateRequest, now_us: int, config: EvaluatorConfig
) -> GateJudgement:
    """May this message be shown to the operator?"""
    if state is None or not state.started:
        return _never_started(request)
    event = report_event(state, request)
    completes = claim_type_of(event) in COMPLETION_CLAIMS
    objections = (
        (*_given_up(state), *_held(state), *_open_duties(state), *_open_promise(state, event))
        if completes
        else ()
    )
    return _judge(state, request, event, now_us, config, objections)


def judge_dispatch(
    state: TaskState | None,
    request: DispatchGateRequest,
    now_us: int,
    config: EvaluatorConfig,
    parent: TaskState | None = None,
) -> GateJudgement:
    """May this task or subagent be dispatched? `parent` is the state of the task that dispatches a new task."""
    if request.dispatch_kind == "task":
        return _judge_new_task(state, request, now_us, config, parent)
    if state is None or not state.started:
        return _never_started(request)
    objections = (
        *_closed(state),
        *_held(state),
        *_without_anchor(request, state.has_report_anchor),
        *_silent_launch(request),
        *_open_duties_before_dispatch(state, request),
    )
    return _judge(state, request, spawn_event(state, request, now_us), now_us, config, objections)


def _judge_new_task(
    state: TaskState | None,
    request: DispatchGateRequest,
    now_us: int,
    config: EvaluatorConfig,
    parent: TaskState | None,
) -> GateJudgement:
    objections = (*_without_anchor(request, False), *_silent_launch(request))
    if request.parent_task_id is not None:
        if parent is None or not parent.started:
            unknown = GateObjection(
                NOT_JUDGED,
                f"parent_task_id: task {request.parent_task_id} never started",
                "publish its task_started first",
            )
            objections = (unknown, *objections)
        else:
            objections = (
                *_closed(parent),
                *_held(parent),
                *objections,
                *_open_duties_before_dispatch(parent, request),
            )
    return _judge(state, request, start_event(request), now_us, config, objections)


def _judge(
    state: TaskState | None,
    request: ReportGateRequest | DispatchGateRequest,
    event: Event,
    now_us: int,
    config: EvaluatorConfig,
    objections: tuple[GateObjection, ...],
) -> GateJudgement:
    # The place the event would have is not known, and nothing that is judged depends on it.
    try:
        outcome = step(state, event, EventPosition(1, now_us, _NO_HASH), config)
    except UnacceptableEvent as error:
        refusal = GateObjection(NOT_JUDGED, f"{error.field}: {error.problem}", error.remedy)
        return _denied(request.request_id, (*objections, refusal))
    verdict = outcome.verdict
    judged = GateJudgement(
        _answer(request, verdict),
        verdict.disposition,
        event.event_type,
        verdict.matched_json,
        (),
        verdict.missing,
    )
    return _with_objections(judged, objections) if objections else judged


def _answer(request: ReportGateRequest | DispatchGateRequest, verdict: EventVerdict) -> GateAnswer:
    if verdict.policy_id == NO_RULE_MATCHED:
        return GateAnswer.allow(
            request.request_id, NO_RULE_MATCHED, "no rule stands against this act"
        )
    decision = verdict.decision
    about_text = isinstance(request, ReportGateRequest)
    wanted = (_REPORT if about_text else _DISPATCH)[decision.decision]
    if wanted == "allow":
        return GateAnswer.allow(request.request_id, decision.policy_id, decision.reason)
    if wanted == "rewrite" and decision.rewritten_message:
        return GateAnswer.rewrite(
            request.request_id, decision.policy_id, decision.reason, decision.rewritten_message
        )
    remedy = _REMEDIES[decision.decision]
    if verdict.missing:
        remedy = f"{remedy}; missing: {'; '.join(verdict.missing)}"
    return GateAnswer.deny(
        request.request_id, decision.policy_id, decision.reason, remedy[:_MAX_WORDS]
    )


def _with_objections(judged: GateJudgement, objections: tuple[GateObjection, ...]) -> GateJudgement:
    """What the packs said, denied by built-in rules; the reasons of the packs are reported too."""
    answer = judged.answer
    if answer.decision != "allow" and judged.disposition is not None:
        remedy = answer.remedy or _REMEDIES[judged.disposition]
        objections = (*objections, GateObjection(answer.policy_id, answer.reason, remedy))
    denied = _denied(answer.request_id, objections)
    rules = tuple(name for name in denied.gate_rules if name != answer.policy_id)
    return judged._replace(answer=denied.answer, gate_rules=rules)


def _denied(request_id: str, objections: tuple[GateObjection, ...]) -> GateJudgement:
    """The first objection is the rule that decided; the reason and the remedy name them all."""
    answer = GateAnswer.deny(
        request_id,
        objections[0].policy_id,
        "; ".join(objection.reason for objection in objections)[:_MAX_WORDS],
        "; ".join(dict.fromkeys(objection.remedy for objection in objections))[:_MAX_WORDS],
    )
    rules = tuple(dict.fromkeys(objection.policy_id for objection in objections))
    return GateJudgement(answer, gate_rules=rules)


def _never_started(request: GateRequest) -> GateJudgement:
    return _denied(
        request.request_id,
        (
            GateObjection(
                NOT_JUDGED,
                f"task_id: task {request.task_id} never started",
                "publish its task_started first, then ask again",
            ),
        ),
    )


def _closed(state: TaskState) -> tuple[GateObjection, ...]:
    if not state.closed:
        return ()
    return (
        GateObjection(
            TASK_CLOSED,
            f"task {state.task_id} is closed, so nobody would watch what it dispatches",
            "start a new task for it",
        ),
    )


def _given_up(state: TaskState) -> tuple[GateObjection, ...]:
    if not state.closed or state.status != TaskStatus.FAILED:
        return ()
    return (
        GateObjection(
            TASK_CLOSED,
            f"task {state.task_id} was given up, so it can't be called done",
            "start a new task for work that goes on",
        ),
    )


def _held(state: TaskState) -> tuple[GateObjection, ...]:
    if not state.held_by or state.closed:
        return ()
    return (
        GateObjection(
            TASK_HELD,
            f"task {state.task_id} was stopped by a decision and stands at {state.status}",
            "wait for the operator, and publish the decision as task_status_changed with decided_by",
        ),
    )


def _without_anchor(request: DispatchGateRequest, inherited: bool) -> tuple[GateObjection, ...]:
    if has_anchor(request.report_anchor) or inherited:
        return ()
    return (
        GateObjection(
            REPORT_ANCHOR,
            f"no report anchor says where the reports of this {request.dispatch_kind} are owed",
            "give report_anchor: the channel and the conversation that its reports go to",
        ),
    )


def _silent_launch(request: DispatchGateRequest) -> tuple[GateObjection, ...]:
    if request.mode != "silent" or is_valid_path(request.externalized_path):
        return ()
    return (
        GateObjection(
            SILENT_LAUNCH,
            "a silent launch needs a way to be heard of that doesn't depend on anybody's memory",
            "give externalized_path with all its parts filled in, or launch it as interactive",
        ),
    )


def _open_duties(state: TaskState) -> tuple[GateObjection, ...]:
    """What the task must report about its children to its operator before it may claim to be done."""
    return (*_untold_failures(state), *_unshown_results(state))


def _open_duties_before_dispatch(
    state: TaskState, request: DispatchGateRequest
) -> tuple[GateObjection, ...]:
    unseen = _unseen_results(state) if request.mode == "silent" else ()
    return (*_untold_failures(state), *unseen)


def _untold_failures(state: TaskState) -> tuple[GateObjection, ...]:
    failures = unreported_failures(state)
    if not failures:
        return ()
    return (
        GateObjection(
            SUBAGENT_FAILURE,
            f"the operator has not been told of {failures} failed "
            + ("child" if failures == 1 else "children"),
            "report the failure to the operator first, then ask again",
        ),
    )


def _unshown_results(state: TaskState) -> tuple[GateObjection, ...]:
    count = unforwarded_results(state)
    if not count:
        return ()
    return (
        GateObjection(
            RESULT_FORWARDING,
            f"the operator has not been shown {count} "
            + ("result" if count == 1 else "results")
            + " of the task's children",
            "forward each result so that the operator sees it, then ask again",
        ),
    )


def _open_promise(state: TaskState, event: Event) -> tuple[GateObjection, ...]:
    promises = [read_owed(note) for note in state.promises]
    if event.event_type == "task_checkpoint_sent":
        # A report with evidence that came since is what was promised.
        promises = [each for each in promises if each.items >= state.items_total]
    if not promises:
        return ()
    first = min(promises, key=lambda owed: owed.due_us)
    return (
        GateObjection(
            OPEN_PROMISE,
            f"the operator was promised a further report that is open: {quoted_words(first.name)}",
            "report it with evidence that came since, then ask again",
        ),
    )


def _unseen_results(state: TaskState) -> tuple[GateObjection, ...]:
    if not result_without_followup(state):
        return ()
    return (
        GateObjection(
            RESULT_FORWARDING,
            "a child's result is there and the operator has seen neither it nor a report since",
            "forward the result so that the operator sees it, then ask again",
        ),
    )
