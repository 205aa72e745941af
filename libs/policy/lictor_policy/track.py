"""How a task's state moves: what an event adds before it is judged, and what the decision changes.

`observe` runs first, so that rules see a state that counts the event; `settle` runs last.
"""

from lictor_policy.position import EventPosition, to_micros
from lictor_policy.reading import is_visible_update
from lictor_policy.state import (
    MAX_EVIDENCE,
    MAX_MISSES,
    MAX_TITLE,
    TaskState,
    class_bit,
    note_evidence,
)
from lictor_schema.claims import ClaimType, TaskStatus
from lictor_schema.context import ExternalizedPath
from lictor_schema.decisions import Decision, Disposition
from lictor_schema.events import (
    Event,
    ReportAnchorMissing,
    SilenceTimeout,
    TaskCheckpointDue,
    TaskStarted,
)
from lictor_schema.evidence import EvidenceClass, EvidenceItem

_SECOND = 1_000_000
_COMPLETIONS = frozenset((ClaimType.COMPLETION, ClaimType.VERIFIED_COMPLETION))
_BACKS_NEXT_STEP = frozenset(
    (
        EvidenceClass.DECISION_RECORD,
        EvidenceClass.TOOL_OUTPUT,
        EvidenceClass.FILE_CHANGE,
        EvidenceClass.RUNTIME_ARTIFACT,
    )
)
# What people write into a field that must not be empty when they have nothing to say.
_PLACEHOLDERS = frozenset(("", "-", "n/a", "na", "none", "tbd", "todo", "unknown"))


def begin(event: TaskStarted, position: EventPosition) -> TaskState:
    """The state of a task that starts."""
    payload = event.payload
    context = event.operator_context
    now = position.stored_us
    title = payload.title
    state = TaskState(
        task_id=event.task_id,
        started=True,
        runtime=event.runtime,
        agent_id=event.agent_id,
        correlation_id=event.correlation_id,
        operator=(
            context.operator_id,
            context.channel,
            context.session_id,
            context.thread_ref,
            context.locale,
        ),
        title=title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1] + "…",
        mode=payload.mode,
        workflow_shape=payload.workflow_shape,
        channel=payload.channel,
        decision_type=payload.decision_type,
        session_id=payload.session_id,
        parent_task_id=payload.parent_task_id,
        started_us=to_micros(event.timestamp),
        opened_us=now,
        checkpoint_interval_s=payload.checkpoint_interval_s,
        silence_timeout_s=payload.silence_timeout_s,
        has_report_anchor=payload.report_anchor is not None,
        externalized_path_valid=is_valid_path(payload.externalized_path),
    )
    return _watch_anew(state, now)


def announce(event: ReportAnchorMissing, position: EventPosition) -> TaskState:
    """The state of a task that was held back before it could start."""
    context = event.operator_context
    moment = position.stored_us
    return TaskState(
        task_id=event.task_id,
        started=False,
        runtime=event.runtime,
        agent_id=event.agent_id,
        correlation_id=event.correlation_id,
        operator=(None,) * 5,
        title="",
        mode="interactive",
        workflow_shape="single-agent",
        channel=event.payload.expected_channel or context.channel or "operator",
        decision_type="task_completion",
        session_id=None,
        parent_task_id=None,
        started_us=moment,
        opened_us=moment,
        checkpoint_interval_s=None,
        silence_timeout_s=None,
        has_report_anchor=False,
        externalized_path_valid=False,
    )


def observe(state: TaskState, event: Event, position: EventPosition) -> TaskState:
    """What an event of a known task adds, whatever will be decided about it."""
    match event.event_type:
        case "task_evidence_attached":
            return _with_evidence(state, event.payload.items)
        case "task_checkpoint_due":
            return _checkpoint_due(state, event, position.stored_us)
        case "silence_timeout":
            return _silence(state, event, position.stored_us)
        case _ if is_visible_update(event):
            return _updated(state, position.stored_us)
        case _:
            return state


def settle(state: TaskState, event: Event, decision: Decision) -> TaskState:
    """What the decision about an event changes; a closed task is no longer waited for."""
    if event.event_type == "task_checkpoint_sent":
        state = state.changed(new_items=0, new_best=0, next_step_backed=False)
    if state.closed:
        return state
    closing = _closing_status(event, decision)
    if closing is None:
        return _with_status(state, event, decision)
    return state.changed(
        status=closing.value, closed=True, checkpoint_due_us=None, silence_due_us=None
    )


def _closing_status(event: Event, decision: Decision) -> TaskStatus | None:
    """The status a task ends with when this decision on this event ends it."""
    if decision.decision is not Disposition.ALLOW:
        return None
    if event.event_type == "task_claimed_complete":
        return TaskStatus.COMPLETED
    # A task that is given up also ends; else its timers would call for reports for ever.
    if event.event_type == "task_status_changed" and event.payload.to_status is TaskStatus.FAILED:
        return TaskStatus.FAILED
    return None


def _with_status(state: TaskState, event: Event, decision: Decision) -> TaskState:
    if decision.suggested_status is not None:
        status = decision.suggested_status.value
    elif event.event_type == "task_status_changed" and decision.decision is not Disposition.BLOCK:
        status = event.payload.to_status.value
    else:
        return state
    return state if status == state.status else state.changed(status=status)


def is_valid_path(path: ExternalizedPath | None) -> bool:
    """Whether a silent task can be heard of this way: every part says something."""
    return path is not None and all(
        text.strip().lower() not in _PLACEHOLDERS
        for text in (
            path.first_forced_checkpoint_trigger,
            path.if_unfinished_report,
            path.externalized_trigger,
            path.final_handoff_path,
        )
    )


def _watch_anew(state: TaskState, now: int) -> TaskState:
    """Both reports due from now on, where the task owes them."""
    return _next_silence(_next_checkpoint(state, now), now)


def _next_checkpoint(state: TaskState, start: int) -> TaskState:
    if state.checkpoint_interval_s is None:
        return state
    return state.changed(
        checkpoint_number=state.checkpoint_number + 1,
        checkpoint_due_us=start + state.checkpoint_interval_s * _SECOND,
    )


def _next_silence(state: TaskState, start: int) -> TaskState:
    if state.silence_timeout_s is None:
        return state
    return state.changed(silence_due_us=start + state.silence_timeout_s * _SECOND)


def _updated(state: TaskState, now: int) -> TaskState:
    watched = not state.closed
    interval = state.checkpoint_interval_s if watched else None
    timeout = state.silence_timeout_s if watched else None
    # All in one step: making a state anew costs more than everything else done here.
    return state.changed(
        last_visible_us=now,
        update_seen=True,
        missed_in_a_row=0,
        silences_in_a_row=0,
        miss_event_ids=(),
        checkpoint_number=state.checkpoint_number + (interval is not None),
        checkpoint_due_us=(
            state.checkpoint_due_us if interval is None else now + interval * _SECOND
        ),
        silence_due_us=state.silence_due_us if timeout is None else now + timeout * _SECOND,
    )


def _checkpoint_due(state: TaskState, event: TaskCheckpointDue, now: int) -> TaskState:
    due = to_micros(event.payload.due_at)
    # A broker and a runtime may disagree about now; the later of the two is when it is told.
    now = max(now, to_micros(event.timestamp))
    if state.closed or due > now:
        return state
    interval = (state.checkpoint_interval_s or 0) * _SECOND
    window_start = due - interval if interval else state.last_due_us or state.opened_us
    previous = state.last_due_us
    state = state.changed(last_due_us=due if previous is None else max(previous, due))
    if state.last_visible_us is not None and state.last_visible_us > window_start:
        return state  # met in time: the timer and the report crossed on their way
    # A runtime may report the same checkpoint that our timer reports: one miss, told twice.
    told_before = (
        previous is not None
        and state.missed_in_a_row > 0
        and (due < previous + interval or due == previous)
    )
    state = state.changed(
        update_seen=False,
        missed_in_a_row=state.missed_in_a_row + (not told_before),
        miss_event_ids=(*state.miss_event_ids, event.event_id)[-MAX_MISSES:],
    )
    if state.checkpoint_due_us is not None and due >= state.checkpoint_due_us:
        return _next_checkpoint(state, now)
    return state


def _silence(state: TaskState, event: SilenceTimeout, now: int) -> TaskState:
    since = to_micros(event.payload.silent_since)
    timeout = event.payload.timeout_s * _SECOND
    told_at = to_micros(event.timestamp)
    now = max(now, told_at)
    if state.closed or since + timeout > now:
        return state
    if state.last_visible_us is not None and state.last_visible_us > since:
        return state
    previous = state.last_silence_us
    told_before = (
        previous is not None and state.silences_in_a_row > 0 and told_at < previous + timeout
    )
    state = state.changed(
        update_seen=False,
        last_silence_us=previous if previous is not None and told_before else told_at,
        silences_in_a_row=state.silences_in_a_row + (not told_before),
        miss_event_ids=(*state.miss_event_ids, event.event_id)[-MAX_MISSES:],
    )
    if state.silence_due_us is not None and told_at >= state.silence_due_us:
        return _next_silence(state, now)
    return state


def _with_evidence(state: TaskState, items: tuple[EvidenceItem, ...]) -> TaskState:
    kept = {note[2:]: note for note in state.evidence}
    new_items, new_best = state.new_items, state.new_best
    best, completion = state.best_quality, state.completion_quality
    mask, backed = state.class_mask, state.next_step_backed
    for item in items:
        rank = item.quality.rank
        if item.evidence_id not in kept:
            # The same item attached again is nothing new.
            new_items += 1
            new_best = max(new_best, rank)
            backed = backed or item.supports.next_step or item.evidence_class in _BACKS_NEXT_STEP
        best = max(best, rank)
        if not _COMPLETIONS.isdisjoint(item.supports.claim_types):
            completion = max(completion, rank)
        mask |= class_bit(item.evidence_class)
        kept[item.evidence_id] = note_evidence(item.evidence_id, item.evidence_class, item.quality)
    notes = tuple(kept.values())
    return state.changed(
        new_items=new_items,
        new_best=new_best,
        best_quality=best,
        completion_quality=completion,
        class_mask=mask,
        next_step_backed=backed,
        evidence=notes if len(notes) <= MAX_EVIDENCE else _strongest(notes),
    )


def _strongest(notes: tuple[str, ...]) -> tuple[str, ...]:
    # A note begins with its quality, so the stronger is the greater.
    ranked = sorted(range(len(notes)), key=lambda index: (notes[index][0], index))
    return tuple(notes[index] for index in sorted(ranked[-MAX_EVIDENCE:]))
