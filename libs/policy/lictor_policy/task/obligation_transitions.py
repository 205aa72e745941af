"""How obligations come and go: promises made and kept, children dispatched, back, shown.

Each function takes the state of a task and an event of it, and gives the state after. An overdue
obligation may be reported by our own timer and by a watch of the runtime: the first report counts, the
other one changes nothing.
"""

from collections.abc import Callable

from lictor_policy.task.obligations import (
    MAX_OWED,
    MAX_PROMISES,
    REMIND_US,
    Owed,
    find,
    note_shown,
    ordered,
    put,
    read_owed,
    was_shown,
    within,
    without,
)
from lictor_policy.task.state import TaskState
from lictor_schema.core.time import to_micros
from lictor_schema.events.claim import PromisedFollowup
from lictor_schema.events.event import (
    ForcedOperatorUpdate,
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
_MAX_DEMANDS = 8


def with_promise(
    state: TaskState, promised: PromisedFollowup, event_id: str, now: int
) -> TaskState:
    """One more promise; of too many the latest due are only counted, the earlier are reported first."""
    due = to_micros(promised.due_at)
    made = Owed.new(promised.what, due, now, items=state.items_total, after=state.reports)
    # The same thing promised again for later is one more promise, not a longer time for the first.
    promises, beyond = within((*map(read_owed, state.promises), made), MAX_PROMISES)
    state = state.changed(
        promises=promises, promises_untracked=state.promises_untracked + len(beyond)
    )
    return _first_beyond(state, event_id, len(beyond), state.promises_untracked)


def _first_beyond(state: TaskState, event_id: str, more: int, untracked: int) -> TaskState:
    """That there is more than can be watched one by one is reported once, when it first is so."""
    if more and more == untracked:
        return state.changed(told_id=event_id, times_told=1)
    return state


def delivered(promises: tuple[str, ...], kept: Callable[[Owed], bool]) -> tuple[Owed, ...]:
    """The promises that an update delivers: all that are not kept open."""
    return tuple(owed for owed in map(read_owed, promises) if not kept(owed))


def deliver(state: TaskState, gone: tuple[Owed, ...]) -> TaskState:
    """The state without promises that were delivered."""
    if not gone:
        return state
    left = ordered(owed for owed in map(read_owed, state.promises) if owed not in gone)
    return state.changed(
        promises=left,
        promises_untracked=state.promises_untracked if left else 0,
        delivered_due_us=max(state.delivered_due_us, *(owed.due_us for owed in gone)),
    )


def spawned(state: TaskState, event: SubagentSpawned, now: int) -> TaskState:
    """A child was dispatched; it is waited for when a time was set."""
    payload = event.payload
    if state.closed:
        return state
    if was_shown(state.forwarded, payload.run_id):
        # Dispatched anew: what was shown of it before is not what it will bring back.
        state = state.changed(forwarded=_others_shown(state, payload.run_id))
    if payload.expected_by is None:
        return state
    due = to_micros(payload.expected_by)
    child = find(state.runs, payload.run_id)
    if child is not None:
        if due >= child.due_us:
            return state  # a time that was set is not put off by setting it again
        sooner = max(due, now) if child.told == 0 else child.next_us
        child = child._replace(due_us=due, next_us=sooner)
        return state.changed(runs=put(state.runs, child))
    child = Owed.new(
        payload.run_id,
        due,
        now,
        since_us=to_micros(payload.dispatch_at),
        detail=payload.child_session_key,
    )
    runs, beyond = within((*map(read_owed, state.runs), child), MAX_OWED)
    state = state.changed(runs=runs, runs_untracked=state.runs_untracked + len(beyond))
    return _first_beyond(state, event.event_id, len(beyond), state.runs_untracked)


def _others_shown(state: TaskState, run: str) -> tuple[str, ...]:
    return tuple(note for note in state.forwarded if note[1:] != run)


def _back(state: TaskState, run: str) -> TaskState:
    """The state in which a child is no longer waited for."""
    runs = without(state.runs, run)
    if len(runs) < len(state.runs):
        return state.changed(runs=runs)
    if state.runs_untracked:
        return state.changed(runs_untracked=state.runs_untracked - 1)
    return state


def spawn_failed(state: TaskState, event: SubagentSpawnFailed) -> TaskState:
    """A child could not be dispatched: unless the operator was told, a notice is due."""
    payload = event.payload
    if state.closed:
        return state
    state = _back(state, payload.run_id)
    if payload.operator_notified:
        return state
    return _failure_told(state, event.event_id).changed(spawn_failures=state.spawn_failures + 1)


def _failure_told(state: TaskState, event_id: str) -> TaskState:
    """A failure must be reported from the first event on that mentions it; a second report adds nothing."""
    return state.changed(told_id=event_id, times_told=1)


def completed(state: TaskState, event: SubagentCompleted, now: int) -> TaskState:
    """A child's result is there: from now on it must be shown to the operator."""
    payload = event.payload
    run, failed = payload.run_id, payload.outcome == "failure"
    if state.closed or was_shown(state.forwarded, run, failed=failed):
        return state
    waiting = find(state.results, run)
    if waiting is not None:
        if waiting.failed or not failed:
            return state
        # What came back as a success turns out to be a failure: that is news, due as before.
        corrected = waiting._replace(failed=True, after=state.reports)
        state = state.changed(results=put(state.results, corrected))
        return _failure_told(state, event.event_id)
    due = now + REMIND_US if payload.forward_by is None else to_micros(payload.forward_by)
    result = Owed.new(
        run,
        due,
        now,
        since_us=to_micros(payload.completion_received_at),
        failed=failed,
        after=state.reports,
        detail=payload.child_session_key,
    )
    state = _with_result(_back(state, run), result, event.event_id)
    return _failure_told(state, event.event_id) if failed else state


def _with_result(state: TaskState, result: Owed, event_id: str) -> TaskState:
    results, beyond = within((*map(read_owed, state.results), result), MAX_OWED)
    if not beyond:
        return state.changed(results=results)
    untold = sum(owed.failed and owed.after == state.reports for owed in beyond)
    state = state.changed(
        results=results,
        results_untracked=state.results_untracked + len(beyond),
        untracked_after=max(state.untracked_after, *(owed.after for owed in beyond)),
        spawn_failures=state.spawn_failures + untold,
    )
    return _first_beyond(state, event_id, len(beyond), state.results_untracked)


def forwarded(state: TaskState, event: SubagentResultForwarded) -> TaskState:
    """A child's result was passed on; only one that the operator can see, and no stand-in, counts.

    What nobody waits for leaves the state as it is: a run that never was, or one shown before.
    """
    payload = event.payload
    if state.closed or not payload.operator_visible or payload.presentation == "placeholder":
        return state
    run = payload.run_id
    result = find(state.results, run)
    if result is None and find(state.runs, run) is None:
        # One of those that are only counted, as far as is known.
        if state.results_untracked:
            return state.changed(results_untracked=state.results_untracked - 1)
        return state
    failed = result is not None and result.failed
    return state.changed(
        results=without(state.results, run),
        runs=without(state.runs, run),
        forwarded=(*_others_shown(state, run), note_shown(run, failed))[-_MAX_FORWARDED:],
    )


def demanded(state: TaskState, event_id: str) -> TaskState:
    """The decision on an event demands a report, which a forced update may answer."""
    return state.changed(demands=(*state.demands, event_id)[-_MAX_DEMANDS:])


def answered(state: TaskState, event: ForcedOperatorUpdate) -> TaskState:
    """A forced update was made; unless it answers a demand, once, the state stays as it is."""
    payload = event.payload
    if not payload.operator_visible or payload.source_event_id not in state.demands:
        return state
    left = tuple(each for each in state.demands if each != payload.source_event_id)
    return state.changed(demands=left)


def not_forwarded(state: TaskState, event: SubagentResultNotForwarded, now: int) -> TaskState:
    """A child's result is reported as overdue."""
    payload = event.payload
    due = to_micros(payload.forward_due_at)
    if state.closed or was_shown(state.forwarded, payload.run_id):
        return state  # shown in time: the telling and the result crossed on their way
    result = find(state.results, payload.run_id)
    if result is None:
        # Our own timers know what they report; what a runtime reports may be news.
        if event.runtime == RUNTIME or due > now:
            return state
        result = Owed.new(
            payload.run_id,
            due,
            now,
            since_us=to_micros(payload.completion_received_at),
            after=state.reports,
            detail=payload.child_session_key,
        )
        if len(state.results) >= MAX_OWED:
            state = _with_result(state, result, event.event_id)
            if find(state.results, payload.run_id) is None:
                return state.changed(told_id=event.event_id, times_told=1)
    if min(due, result.due_us) > now or _told_before(result, now):
        return state
    return _tell(state, "results", result, result.told_at(now, due), event.event_id)


def followup_due(state: TaskState, event: WatchdogFired, now: int) -> TaskState:
    """A promised follow-up is reported as due."""
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
    """A child is reported as late with its result."""
    payload = event.payload
    run = payload.run_id
    if state.closed or run is None:
        return state
    if was_shown(state.forwarded, run) or find(state.results, run) is not None:
        return state  # it is back
    child = find(state.runs, run)
    if child is None:
        due = to_micros(payload.fired_at if payload.due_at is None else payload.due_at)
        if event.runtime == RUNTIME or due > now or len(state.runs) >= MAX_OWED:
            return state
        child = Owed.new(run, due, now, after=state.reports)
    if child.due_us > now or _told_before(child, now):
        return state
    return _tell(state, "runs", child, child.told_at(now), event.event_id)


def _told_before(owed: Owed, now: int) -> bool:
    return owed.told > 0 and (owed.next_us == 0 or now < owed.next_us)


def _tell(state: TaskState, field: str, before: Owed, after: Owed, event_id: str) -> TaskState:
    others = (owed for owed in map(read_owed, getattr(state, field)) if owed != before)
    notes = ordered((*others, after))
    return state.changed(**{field: notes, "told_id": event_id, "times_told": after.told})


def unheard(before: TaskState, told: TaskState, now: int, until_us: int) -> TaskState:
    """A report made just now while every rule that matched it rests or is on trial: it does not count.

    Else the reports would be used up, and nobody would be notified when the rules count again.
    """
    for field in ("promises", "results", "runs"):
        known = getattr(before, field)
        notes = [read_owed(note) for note in getattr(told, field) if note not in known]
        for owed in notes:
            if owed.told:
                others = (each for each in map(read_owed, getattr(told, field)) if each != owed)
                again = owed.untold(now, until_us)
                return told.changed(**{field: ordered((*others, again))})
    return told
