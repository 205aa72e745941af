"""How a task's state moves: what an event adds before it is judged, and what the decision changes.

`observe` runs first, so that rules see a state that counts the event; `settle` runs last.
"""

from lictor_policy.events.content import asks_operator, has_anchor, is_visible_update
from lictor_policy.events.position import EventPosition
from lictor_policy.task.evidence import attach, reported
from lictor_policy.task.holds import closing_status, is_held_back, waits, with_status
from lictor_policy.task.obligation_transitions import (
    answered,
    child_overdue,
    completed,
    deliver,
    delivered,
    demanded,
    followup_due,
    forwarded,
    not_forwarded,
    spawn_failed,
    spawned,
    with_promise,
)
from lictor_policy.task.obligations import Owed
from lictor_policy.task.state import MAX_MISSES, MAX_TITLE, TaskState
from lictor_schema.core.placeholders import says_nothing
from lictor_schema.core.time import SECOND_US, to_micros
from lictor_schema.decisions.decision import Disposition, SuggestedStatus
from lictor_schema.events.event import (
    Event,
    ReportAnchorMissing,
    SilenceTimeout,
    TaskCheckpointDue,
    TaskCheckpointSent,
    TaskStarted,
    WatchdogFired,
)
from lictor_schema.events.operator_context import ExternalizedPath

_DEMANDING = (Disposition.FORCE_CHECKPOINT, Disposition.ESCALATE)
_REPORTS = frozenset(
    ("task_checkpoint_sent", "forced_operator_update", "subagent_result_forwarded")
)
_TOLD_EACH = 3
"""So many misses in a row are reported one by one; by then a human was called."""


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
        has_report_anchor=has_anchor(payload.report_anchor),
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
    now = position.stored_us
    match event.event_type:
        case "task_evidence_attached":
            return attach(state, event.payload.items)
        case "task_checkpoint_sent":
            return _reported(state, event, now)
        case "forced_operator_update":
            after = answered(state, event)
            if after is state:
                return state
            return _updated(after, now, report=True, asks=asks_operator(event))
        case "task_checkpoint_due":
            return _checkpoint_due(state, event, now)
        case "silence_timeout":
            return _silence(state, event, now)
        case "watchdog_fired":
            return _watched(state, event, max(now, to_micros(event.timestamp)))
        case "subagent_spawned":
            return spawned(state, event, now)
        case "subagent_spawn_failed":
            return spawn_failed(state, event)
        case "subagent_completed":
            return completed(state, event, now)
        case "subagent_result_forwarded":
            after = forwarded(state, event)
            return state if after is state else _updated(after, now)
        case "operator_review_requested" if event.runtime == state.runtime:
            return state.changed(operator_asked=True)
        case "subagent_result_not_forwarded":
            return not_forwarded(state, event, max(now, to_micros(event.timestamp)))
        case _:
            return state


def settle(
    before: TaskState | None,
    state: TaskState,
    event: Event,
    disposition: Disposition,
    suggested: SuggestedStatus | None,
    now: int,
) -> TaskState:
    """What the decision about an event changes; a closed task is no longer waited for.

    `before` is the state without the event: what was held back has not been seen by anybody.
    """
    if event.event_type in _REPORTS:
        if before is not None and is_held_back(disposition):
            state = before.changed(history=state.history)
        elif is_visible_update(event):
            state = _seen(state, event)
    if state.closed:
        return state
    if disposition in _DEMANDING:
        state = demanded(state, event.event_id)
    closing = closing_status(state, event, disposition)
    if closing is None:
        return _watched_or_not(with_status(state, event, disposition, suggested), now)
    return state.changed(
        status=closing.value,
        closed=True,
        checkpoint_due_us=None,
        silence_due_us=None,
        promises=(),
        results=(),
        runs=(),
    )


def _seen(state: TaskState, event: Event) -> TaskState:
    """A visible report was let through: evidence from here on is new, promises that were due are met."""
    if event.event_type == "task_checkpoint_sent":
        state = reported(state)
    return _came_due(state) if state.promises else state


def _watched_or_not(state: TaskState, now: int) -> TaskState:
    """No report is due while it is the operator's turn; afterwards the time runs anew."""
    checkpoint, silence = state.checkpoint_due_us, state.silence_due_us
    if waits(state):
        if checkpoint is None and silence is None:
            return state
        return state.changed(checkpoint_due_us=None, silence_due_us=None)
    if checkpoint is None:
        state = _next_checkpoint(state, now)
    return _next_silence(state, now) if silence is None else state


def _came_due(state: TaskState) -> TaskState:
    """Without the promises that were due: the update was judged as what had been promised."""
    now = state.last_report_us

    def kept(promise: Owed) -> bool:
        return promise.due_us > now or promise.stored_us == now

    return deliver(state, delivered(state.promises, kept))


def is_valid_path(path: ExternalizedPath | None) -> bool:
    """Whether a silent task can be heard of this way: every part says something."""
    return path is not None and not any(
        says_nothing(text)
        for text in (
            path.first_forced_checkpoint_trigger,
            path.if_unfinished_report,
            path.externalized_trigger,
            path.final_handoff_path,
        )
    )


def _watch_anew(state: TaskState, now: int) -> TaskState:
    """Both reports due from now on, where the task must give them."""
    return _next_silence(_next_checkpoint(state, now), now)


def _next_checkpoint(state: TaskState, start: int) -> TaskState:
    if state.checkpoint_interval_s is None:
        return state
    return state.changed(
        checkpoint_number=state.checkpoint_number + 1,
        checkpoint_due_us=start + state.checkpoint_interval_s * SECOND_US,
    )


def _next_silence(state: TaskState, start: int) -> TaskState:
    if state.silence_timeout_s is None:
        return state
    return state.changed(silence_due_us=start + state.silence_timeout_s * SECOND_US)


def _reported(state: TaskState, event: TaskCheckpointSent, now: int) -> TaskState:
    payload = event.payload
    bare = state.status_only_in_a_row + 1 if state.new_items == 0 else 0
    if payload.operator_visible:
        state = _updated(state, now, report=True, bare=bare, asks=asks_operator(event))
    elif bare != state.status_only_in_a_row:
        state = state.changed(status_only_in_a_row=bare)
    if payload.promised_followup is None or state.closed:
        return state
    return with_promise(state, payload.promised_followup, event.event_id, now)


def _updated(
    state: TaskState,
    now: int,
    *,
    report: bool = False,
    bare: int | None = None,
    asks: bool | None = None,
) -> TaskState:
    watched = not state.closed
    interval = state.checkpoint_interval_s if watched else None
    timeout = state.silence_timeout_s if watched else None
    if report and state.promises:
        # What came with evidence is what was promised; what did not is judged when it is due.
        items = state.items_total
        state = deliver(state, delivered(state.promises, lambda promise: promise.items >= items))
    # All in one step: making a state anew costs more than everything else done here.
    return state.changed(
        last_visible_us=now,
        operator_asked=state.operator_asked if asks is None else asks,
        last_report_us=now if report else state.last_report_us,
        reports=state.reports + report,
        update_seen=True,
        missed_in_a_row=0,
        silences_in_a_row=0,
        miss_event_ids=(),
        status_only_in_a_row=state.status_only_in_a_row if bare is None else bare,
        spawn_failures=0 if report else state.spawn_failures,
        checkpoint_number=state.checkpoint_number + (interval is not None),
        checkpoint_due_us=(
            state.checkpoint_due_us if interval is None else now + interval * SECOND_US
        ),
        silence_due_us=state.silence_due_us if timeout is None else now + timeout * SECOND_US,
    )


def _checkpoint_due(state: TaskState, event: TaskCheckpointDue, now: int) -> TaskState:
    # A broker and a runtime may disagree about now; the later of the two is the time of the report.
    now = max(now, to_micros(event.timestamp))
    return _missed(state, event.event_id, to_micros(event.payload.due_at), now)


def _missed(state: TaskState, event_id: str, due: int, now: int) -> TaskState:
    if state.closed or due > now or waits(state):
        return state
    interval = (state.checkpoint_interval_s or 0) * SECOND_US
    window_start = due - interval if interval else state.last_due_us or state.opened_us
    previous = state.last_due_us
    latest = due if previous is None else max(previous, due)
    if state.last_visible_us is not None and state.last_visible_us > window_start:
        # Met in time: the timer and the report crossed on their way.
        return state.changed(last_due_us=latest)
    # A runtime may report the same checkpoint that our timer reports: one miss, reported twice.
    told_before = (
        previous is not None
        and state.missed_in_a_row > 0
        and (due < previous + interval or due == previous)
    )
    if told_before:
        return _past_checkpoint(state, due, now)
    missed = state.missed_in_a_row + 1
    counted = state.changed(last_due_us=latest, update_seen=False, missed_in_a_row=missed)
    if not (state.silences_in_a_row and _same_quiet(state, due, state.last_silence_us)):
        counted = _newly_missed(counted, event_id, missed)
    return _past_checkpoint(counted, due, now)


def _same_quiet(state: TaskState, one: int, other: int | None) -> bool:
    """Whether a missed checkpoint and a silence are one silence reported twice: both count, one is reported.

    Less than half of the shorter time lies between them, so neither can keep the other from ever being reported.
    """
    times = [each for each in (state.checkpoint_interval_s, state.silence_timeout_s) if each]
    if other is None or not times:
        return False
    return 2 * abs(one - other) < min(times) * SECOND_US


def _is_told(count: int) -> bool:
    """Whether so many misses in a row are reported: the first few, then each time they have doubled."""
    times, left = divmod(count, _TOLD_EACH)
    return count <= _TOLD_EACH or (left == 0 and times & (times - 1) == 0)


def _newly_missed(state: TaskState, event_id: str, times: int) -> TaskState:
    if not _is_told(times):
        return state
    return state.changed(
        miss_event_ids=(*state.miss_event_ids, event_id)[-MAX_MISSES:],
        told_id=event_id,
        times_told=times,
    )


def _past_checkpoint(state: TaskState, due: int, now: int) -> TaskState:
    if state.checkpoint_due_us is not None and due >= state.checkpoint_due_us:
        return _next_checkpoint(state, now)
    return state


def _silence(state: TaskState, event: SilenceTimeout, now: int) -> TaskState:
    since = to_micros(event.payload.silent_since)
    timeout = event.payload.timeout_s * SECOND_US
    return _silent(state, event.event_id, since, timeout, to_micros(event.timestamp), now)


def _silent(
    state: TaskState, event_id: str, since: int, timeout: int, told_at: int, now: int
) -> TaskState:
    now = max(now, told_at)
    if state.closed or since + timeout > now or waits(state):
        return state
    if state.last_visible_us is not None and state.last_visible_us > since:
        return state
    previous = state.last_silence_us
    told_before = (
        previous is not None and state.silences_in_a_row > 0 and told_at < previous + timeout
    )
    if told_before:
        return _past_silence(state, told_at, now)
    silences = state.silences_in_a_row + 1
    counted = state.changed(update_seen=False, last_silence_us=told_at, silences_in_a_row=silences)
    if not (state.missed_in_a_row and _same_quiet(state, told_at, state.last_due_us)):
        counted = _newly_missed(counted, event_id, silences)
    return _past_silence(counted, told_at, now)


def _past_silence(state: TaskState, told_at: int, now: int) -> TaskState:
    if state.silence_due_us is not None and told_at >= state.silence_due_us:
        return _next_silence(state, now)
    return state


def _watched(state: TaskState, event: WatchdogFired, now: int) -> TaskState:
    """What a watch found: the same as our own timer would report, or something it could not know."""
    payload = event.payload
    match payload.condition:
        case "promised_followup_due":
            return followup_due(state, event, now)
        case "subagent_overdue":
            return child_overdue(state, event, now)
        case "checkpoint_overdue":
            due = _watched_due(state, event, now)
            return state if due is None else _missed(state, event.event_id, due, now)
        case "silence" if state.silence_timeout_s is not None:
            since = state.opened_us if state.last_visible_us is None else state.last_visible_us
            timeout = state.silence_timeout_s * SECOND_US
            return _silent(state, event.event_id, since, timeout, now, now)
        case _:
            return state


def _watched_due(state: TaskState, event: WatchdogFired, now: int) -> int | None:
    """The checkpoint a watch means: the one it names, the one due, or the last one reported."""
    if event.payload.due_at is not None:
        return to_micros(event.payload.due_at)
    if state.checkpoint_due_us is None:
        return to_micros(event.payload.fired_at)
    return state.checkpoint_due_us if state.checkpoint_due_us <= now else state.last_due_us
