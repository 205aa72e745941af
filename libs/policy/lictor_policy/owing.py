"""How obligations come and go: promises made and kept, children dispatched, back, shown.

Each function takes the state of a task and an event of it, and gives the state after. An overdue
obligation may be told by our own timer and by a watch of the runtime: the first telling counts, the
other one changes nothing.
"""

from collections.abc import Callable

from lictor_policy.obligations import (
    MAX_OWED,
    MAX_PROMISES,
    REMIND_US,
    Owed,
    find,
    ordered,
    put,
    read_owed,
    without,
)
from lictor_policy.position import to_micros
from lictor_policy.state import TaskState
from lictor_schema.claims import PromisedFollowup
from lictor_schema.events import (
    SubagentCompleted,
    SubagentResultForwarded,
    SubagentResultNotForwarded,
    SubagentSpawned,
    SubagentSpawnFailed,
    WatchdogFired,
)

RUNTIME = "lictor"
"""The runtime of events that the evaluator derives itself."""
_MAX_FORWARDED = 16


def with_promise(
    promises: tuple[str, ...], promised: PromisedFollowup, items: int, now: int
) -> tuple[str, ...]:
    """One more promise; of too many the latest due are let go, the earlier ones are told first."""
    due = to_micros(promised.due_at)
    made = Owed.new(promised.what, due, now, items=items)
    # The same thing promised again for later is one more promise, not a longer time for the first.
    kept = [*map(read_owed, promises), made]
    return ordered(sorted(kept, key=lambda each: each.due_us)[:MAX_PROMISES])


def delivered(promises: tuple[str, ...], kept: Callable[[Owed], bool]) -> tuple[Owed, ...]:
    """The promises that an update delivers: all that are not kept open."""
    return tuple(owed for owed in map(read_owed, promises) if not kept(owed))


def deliver(state: TaskState, gone: tuple[Owed, ...]) -> TaskState:
    """The state without promises that were delivered."""
    if not gone:
        return state
    return state.changed(
        promises=ordered(owed for owed in map(read_owed, state.promises) if owed not in gone),
        delivered_due_us=max(state.delivered_due_us, *(owed.due_us for owed in gone)),
    )


def spawned(state: TaskState, event: SubagentSpawned, now: int) -> TaskState:
    """A child was dispatched; it is waited for when a time was set."""
    payload = event.payload
    if state.closed or payload.expected_by is None or len(state.runs) >= MAX_OWED:
        return state
    child = Owed.new(
        payload.run_id,
        to_micros(payload.expected_by),
        now,
        since_us=to_micros(payload.dispatch_at),
        detail=payload.child_session_key,
    )
    return state.changed(runs=put(state.runs, child))


def spawn_failed(state: TaskState, event: SubagentSpawnFailed) -> TaskState:
    """A child could not be dispatched: unless the operator was told, that is owed."""
    payload = event.payload
    if state.closed:
        return state
    return state.changed(
        runs=without(state.runs, payload.run_id),
        spawn_failures=state.spawn_failures + (not payload.operator_notified),
    )


def completed(state: TaskState, event: SubagentCompleted, now: int) -> TaskState:
    """A child's result is there: from now on the operator is owed a sight of it."""
    payload = event.payload
    known = payload.run_id in state.forwarded or find(state.results, payload.run_id) is not None
    if state.closed or known:
        return state
    due = now + REMIND_US if payload.forward_by is None else to_micros(payload.forward_by)
    result = Owed.new(
        payload.run_id,
        due,
        now,
        since_us=to_micros(payload.completion_received_at),
        failed=payload.outcome == "failure",
        detail=payload.child_session_key,
    )
    return _with_result(state, result, now).changed(runs=without(state.runs, payload.run_id))


def _with_result(state: TaskState, result: Owed, now: int) -> TaskState:
    if len(state.results) >= MAX_OWED:
        return state.changed(results_untracked=state.results_untracked + 1, untracked_us=now)
    return state.changed(results=put(state.results, result))


def forwarded(state: TaskState, event: SubagentResultForwarded) -> TaskState:
    """A child's result was passed on; only one that the operator can see, and no stand-in, counts."""
    payload = event.payload
    if state.closed or not payload.operator_visible or payload.presentation == "placeholder":
        return state
    known = (run for run in state.forwarded if run != payload.run_id)
    return state.changed(
        results=without(state.results, payload.run_id),
        runs=without(state.runs, payload.run_id),
        forwarded=(*known, payload.run_id)[-_MAX_FORWARDED:],
    )


def not_forwarded(state: TaskState, event: SubagentResultNotForwarded, now: int) -> TaskState:
    """A child's result is told to be overdue."""
    payload = event.payload
    due = to_micros(payload.forward_due_at)
    if state.closed or payload.run_id in state.forwarded:
        return state  # shown in time: the telling and the result crossed on their way
    result = find(state.results, payload.run_id)
    if result is None:
        # Our own timers know what they tell of; what a runtime tells of may be news.
        if event.runtime == RUNTIME or due > now:
            return state
        result = Owed.new(
            payload.run_id,
            due,
            now,
            since_us=to_micros(payload.completion_received_at),
            detail=payload.child_session_key,
        )
        if len(state.results) >= MAX_OWED:
            state = _with_result(state, result, now)
            return state.changed(told_id=event.event_id, times_told=1)
    if min(due, result.due_us) > now or _told_before(result, now):
        return state
    return _tell(state, "results", result, result.told_at(now, due), event.event_id)


def followup_due(state: TaskState, event: WatchdogFired, now: int) -> TaskState:
    """A promised follow-up is told to be due."""
    payload = event.payload
    if state.closed:
        return state
    told_due = None if payload.due_at is None else to_micros(payload.due_at)
    open_now = [owed for owed in map(read_owed, state.promises) if owed.due_us <= now]
    meant = [owed for owed in open_now if owed.due_us == told_due] or open_now
    if not meant:
        if event.runtime == RUNTIME:
            return state
        due = to_micros(payload.fired_at) if told_due is None else told_due
        kept = due <= max(state.delivered_due_us, state.last_report_us)
        if due > now or kept or (told_due is None and state.promises):
            return state
        what = payload.detail or "a follow-up"
        meant = [Owed.new(what, due, now, items=state.items_total)]
    promise = meant[0]
    if _told_before(promise, now):
        return state
    return _tell(state, "promises", promise, promise.told_at(now), event.event_id)


def child_overdue(state: TaskState, event: WatchdogFired, now: int) -> TaskState:
    """A child is told to be late with its result."""
    payload = event.payload
    run = payload.run_id
    if state.closed or run is None:
        return state
    if run in state.forwarded or find(state.results, run) is not None:
        return state  # it is back
    child = find(state.runs, run)
    if child is None:
        due = to_micros(payload.fired_at if payload.due_at is None else payload.due_at)
        if event.runtime == RUNTIME or due > now or len(state.runs) >= MAX_OWED:
            return state
        child = Owed.new(run, due, now)
    if child.due_us > now or _told_before(child, now):
        return state
    return _tell(state, "runs", child, child.told_at(now), event.event_id)


def _told_before(owed: Owed, now: int) -> bool:
    return owed.told > 0 and (owed.next_us == 0 or now < owed.next_us)


def _tell(state: TaskState, field: str, before: Owed, after: Owed, event_id: str) -> TaskState:
    others = (owed for owed in map(read_owed, getattr(state, field)) if owed != before)
    notes = ordered((*others, after))
    return state.changed(**{field: notes, "told_id": event_id, "times_told": after.told})
