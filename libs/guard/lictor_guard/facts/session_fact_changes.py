"""The facts that every session has: how each kind of entry changes them."""

from typing import Any, TypeVar, cast

from lictor_guard.facts.fact import Changes, Fact, Facts
from lictor_guard.facts.session_facts import (
    RECENT,
    RECENT_CALLS,
    STATE_CHANGE,
    TALLY,
    WAITING,
    CallSeen,
    LastStateChange,
    LastStop,
    Recent,
    RecentCall,
    RecentDetails,
    Tally,
    Waiting,
    recent_name,
)
from lictor_guard.plugins.tool_call import Call
from lictor_guard.text.wording import short_params, shortened
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    CallDenied,
    CallFinished,
    FeedbackRaised,
    SessionBegun,
    StateKept,
    StateReset,
    StateRestored,
    StopJudged,
    WorkGiven,
)
from lictor_schema.sessions.session_questions import CallOutcome

_F = TypeVar("_F", bound=Fact)


def tally_of(facts: Facts) -> Tally:
    """What the session has done so far; nothing yet for a new one."""
    found = facts.get(TALLY)
    return found if isinstance(found, Tally) else Tally()


def seen(facts: Facts, name: str) -> CallSeen | None:
    """The mark of a call or report, if it was counted."""
    found = facts.get(name)
    return found if isinstance(found, CallSeen) else None


def counts_for_nothing(mark: CallSeen | None, outcome: CallOutcome) -> bool:
    """Whether a result adds nothing new. The result of a call that ran although it was denied does: it had effects."""
    if mark is None or mark.outcome is None:
        return False
    return mark.outcome != "denied" or outcome == "denied"


def earned(mark: CallSeen | None, outcome: CallOutcome) -> CallOutcome:
    """A call that ran although it was denied may invalidate facts, but earns nothing."""
    was_denied = mark is not None and mark.outcome == "denied"
    return "failed" if was_denied and outcome == "ok" else outcome


def touched(facts: Facts, entry: AnySessionEntry) -> Tally:
    """The tally with the time of this entry: no later moment is taken to be earlier."""
    tally = tally_of(facts)
    last_us = max(entry.at_us, tally.last_us)
    active_us = tally.active_us if isinstance(entry, FeedbackRaised) else last_us
    return with_changes(tally, last_us=last_us, active_us=active_us)


def with_changes(fact: _F, **changes: Any) -> _F:
    """A fact with some of its values replaced."""
    return fact.model_copy(update=changes)


def ringing(entry: SessionBegun | WorkGiven | StateReset) -> Waiting:
    """What waits after an entry that sets the timer anew."""
    return Waiting(next_due_us=entry.next_due_us)


def waiting(facts: Facts) -> tuple[StampedFeedback, ...]:
    """The feedback that was raised and not handed over yet."""
    found = facts.get(WAITING)
    return found.feedback if isinstance(found, Waiting) else ()


def counted(tally: Tally, entry: CallFinished) -> Tally:
    """The tally with one more call that ended."""
    column = {"ok": "succeeded", "denied": "denied"}.get(entry.outcome, "failed")
    count = cast(int, getattr(tally, column)) + 1
    return tally.model_copy(update={"calls": tally.calls + 1, column: count})


def calls_before(tally: Tally, mark: CallSeen | None) -> int:
    """The calls of a session but for this one: those that ended or were denied, and those counted when allowed."""
    own = mark is not None and (mark.reserved or mark.outcome is not None)
    return max(0, tally.calls + tally.running - own)


def runs_no_more(tally: Tally, mark: CallSeen | None) -> Tally:
    """The tally after a call has ended that may have been counted when it was allowed."""
    if mark is None or not mark.reserved or mark.outcome is not None:
        return tally
    # Facts that were stored before there was such a count hold calls that it lacks.
    return with_changes(tally, running=max(0, tally.running - 1))


def recent(facts: Facts, call: Call, outcome: CallOutcome, at_us: int) -> Recent:
    """The last calls with one more."""
    found = facts.get(RECENT)
    before = found.calls if isinstance(found, Recent) else ()
    newest = RecentCall(
        call_id=call.call_id,
        tool=call.tool,
        signature=call.signature,
        outcome=outcome,
        at_us=at_us,
        slot=(before[-1].slot + 1) % RECENT_CALLS if before else 0,
    )
    return Recent(calls=(*before, newest)[-RECENT_CALLS:])


def details(calls: Recent, entry: CallDenied | CallFinished) -> Changes:
    """What the newest of the last calls was given and returned, in its place: each call writes one, whatever their
    number."""
    if isinstance(entry, CallDenied):
        error, output, duration_ms = "; ".join(each.reason for each in entry.denials), None, None
    else:
        error, output, duration_ms = entry.error, entry.output, entry.duration_ms
    kept = RecentDetails(
        call_id=entry.call_id,
        params=short_params(entry.params),
        error=None if error is None else shortened(error),
        output=None if output is None else shortened(output),
        duration_ms=duration_ms,
    )
    return {recent_name(calls.calls[-1].slot): kept}


def last_stop(entry: StopJudged, tally: Tally) -> LastStop | None:
    """What a stop leaves, so that the same question gets the same answer."""
    if entry.request_id is None:
        return None
    return LastStop(
        request_id=entry.request_id,
        entry_id=entry.entry_id,
        calls=tally.calls,
        at_us=entry.at_us,
        allowed=entry.allowed,
        status=entry.status,
        bypass=entry.bypass,
        attempt=entry.attempt,
        escalated=entry.escalated,
    )


def state_change(entry: StateKept | StateRestored | StateReset) -> Changes:
    """What a change of the whole state leaves, likewise."""
    if entry.request_id is None or entry.state_hash is None:
        return {STATE_CHANGE: None}
    return {
        STATE_CHANGE: LastStateChange(
            request_id=entry.request_id,
            change=entry.kind,
            snapshot_id=None if isinstance(entry, StateReset) else entry.snapshot_id,
            state_hash=entry.state_hash,
        )
    }
