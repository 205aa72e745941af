"""Keeping a session's state under a name, setting it back, and forgetting it."""

from collections.abc import Mapping

from lictor_guard.errors import SessionStateError
from lictor_guard.facts.fact import Changes, Fact, Facts
from lictor_guard.facts.part_memory import plain
from lictor_guard.facts.session_facts import (
    BROKEN,
    IDENTITY,
    STATE_CHANGE,
    TALLY,
    LastStateChange,
    Snapshot,
    snapshot_name,
)
from lictor_guard.facts.state_document import (
    read_document,
    refuse_logged,
    state_document,
    state_hash,
)
from lictor_guard.feedback.provider_runs import names_for_advice, next_due_us
from lictor_guard.log.entry_stamp import Stamp, done, refused, ringing_at
from lictor_guard.log.fold import Folder
from lictor_guard.session.tool_gate import unknown_session
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions.session_log import StateKept, StateReset, StateRestored
from lictor_schema.sessions.session_questions import (
    Denial,
    ResetRequest,
    RestoreRequest,
    SnapshotRequest,
    StateAnswer,
    StateDocument,
)

STATE = "lictor.state"
Whole = Mapping[str, Fact]
"""Every fact of a session, by full name."""
_MAX_REASON = 2000
_KEPT = "The state is kept."
_RESTORED = "The state was set back; what was logged stays."
_RESET = "What policies, providers and checkers knew is forgotten."


class SnapshotQuestions:
    """The questions that concern every fact of a session. One that is asked again changes nothing again."""

    def __init__(self, stamp: Stamp, folder: Folder) -> None:
        self._stamp = stamp
        self._folder = folder

    def snapshot(
        self, request: SnapshotRequest, whole: Whole, now_us: int
    ) -> tuple[StateKept | None, StateAnswer]:
        """Keep the state as it is; a name that is taken is refused."""
        if IDENTITY not in whole:
            return None, StateAnswer(**refused(request, unknown_session()))
        before = _asked_before(request, whole, "state_kept", request.snapshot_id)
        if before is not None:
            return None, self._kept_before(request, whole, before)
        if snapshot_name(request.snapshot_id) in whole:
            reason = f"Snapshot '{request.snapshot_id}' is there already."
            return None, _refusal(request, reason, "Choose another name.")
        try:
            document = self._document(whole)
        except SessionStateError as error:
            return None, _refusal(request, str(error), "Reset the session, or end it.")
        entry = StateKept(
            kind="state_kept",
            **self._stamp.on(request, _core(whole), now_us),
            snapshot_id=request.snapshot_id,
            state_hash=state_hash(document),
            request_id=request.request_id,
        )
        return entry, StateAnswer(
            **done(request, _KEPT),
            snapshot_id=request.snapshot_id,
            state_hash=entry.state_hash,
            document=document if request.with_document else None,
        )

    def _kept_before(
        self, request: SnapshotRequest, whole: Whole, before: LastStateChange
    ) -> StateAnswer:
        now = self._document(whole) if request.with_document else None
        # Another state than the one that was kept is nobody's answer; the snapshot itself is there.
        same = now is not None and state_hash(now) == before.state_hash
        return StateAnswer(
            **done(request, _KEPT),
            snapshot_id=request.snapshot_id,
            state_hash=before.state_hash,
            document=now if same else None,
        )

    def restore(
        self, request: RestoreRequest, whole: Whole, kept: Whole | None, now_us: int
    ) -> tuple[StateRestored | None, StateAnswer]:
        """Set the state back; `kept` is the state of the snapshot asked for, None where none is or it is unknown."""
        if IDENTITY not in whole:
            return None, StateAnswer(**refused(request, unknown_session()))
        before = _asked_before(request, whole, "state_restored", request.snapshot_id)
        if before is not None:
            return None, StateAnswer(
                **done(request, _RESTORED),
                snapshot_id=request.snapshot_id,
                state_hash=before.state_hash,
            )
        snapshot = kept_snapshot(request, whole)
        try:
            state = self._asked_for(request, snapshot, kept)
            refuse_logged(state, whole)
        except SessionStateError as error:
            return None, _refusal(request, str(error), "Restore what a snapshot gave.")
        entry = StateRestored(
            kind="state_restored",
            **self._stamp.on(request, _core(whole), now_us),
            snapshot_id=request.snapshot_id,
            to_sequence=None if snapshot is None else snapshot.sequence,
            document=request.document,
            cause=request.cause,
        )
        changes = self._folder.fold_whole(entry, whole, state)
        after = state_hash(self._document(changed(whole, changes)))
        led_to = {"state_hash": after, "request_id": request.request_id}
        return entry.model_copy(update=led_to), StateAnswer(
            **done(request, _RESTORED),
            snapshot_id=request.snapshot_id,
            state_hash=after,
        )

    def reset(
        self, request: ResetRequest, whole: Whole, now_us: int
    ) -> tuple[StateReset | None, StateAnswer]:
        """Forget what policies, providers and checkers know."""
        if IDENTITY not in whole:
            return None, StateAnswer(**refused(request, unknown_session()))
        before = _asked_before(request, whole, "state_reset", None)
        if before is not None:
            return None, StateAnswer(**done(request, _RESET), state_hash=before.state_hash)
        entry = StateReset(
            kind="state_reset",
            **self._stamp.on(request, _core(whole), now_us),
            cause=request.cause,
        )
        changes = self._folder.fold_whole(entry, whole, {})
        entry = ringing_at(entry, self._rings(changed(whole, changes), entry.at_us))
        after = state_hash(self._document(changed(whole, changes)))
        led_to = {"state_hash": after, "request_id": request.request_id}
        answer = StateAnswer(**done(request, _RESET), state_hash=after)
        return entry.model_copy(update=led_to), answer

    def _asked_for(
        self, request: RestoreRequest, snapshot: Snapshot | None, kept: Whole | None
    ) -> Whole:
        if request.document is not None:
            return read_document(request.document, self._stamp.guarded)
        if snapshot is None:
            raise SessionStateError(f"the session has no snapshot '{request.snapshot_id}'")
        if kept is None or state_hash(self._document(kept)) != snapshot.state_hash:
            raise SessionStateError(
                f"the state of snapshot '{request.snapshot_id}' can't be had from the log as it was"
            )
        return kept

    def _rings(self, whole: Whole, at_us: int) -> int | None:
        names = names_for_advice(self._stamp.guarded)
        facts = Facts({name: whole.get(name) for name in names})
        return next_due_us(self._stamp.guarded, facts, at_us)

    def _document(self, facts: Whole) -> StateDocument:
        return state_document(facts, self._stamp.guarded.hash)


def _asked_before(
    request: GateRequest, whole: Whole, change: str, snapshot_id: str | None
) -> LastStateChange | None:
    """The result of this very question; None when the last change was another's."""
    last = whole.get(STATE_CHANGE)
    if not isinstance(last, LastStateChange):
        return None
    asked = request.request_id, change, snapshot_id
    return last if (last.request_id, last.change, last.snapshot_id) == asked else None


def kept_snapshot(request: RestoreRequest, facts: Whole) -> Snapshot | None:
    """Where the snapshot that is asked for stands in the log; None for none."""
    if request.snapshot_id is None:
        return None
    found = facts.get(snapshot_name(request.snapshot_id))
    return found if isinstance(found, Snapshot) else None


def changed(whole: Whole, changes: Changes) -> dict[str, Fact]:
    """All facts after some changed."""
    after = {**whole, **changes}
    return {name: fact for name, fact in after.items() if fact is not None}


def _core(whole: Whole) -> Facts:
    return Facts({name: whole.get(name) for name in (IDENTITY, TALLY, BROKEN)})


def _refusal(request: GateRequest, reason: str, remedy: str) -> StateAnswer:
    text = plain(reason[:1].upper() + reason[1:], _MAX_REASON)
    return StateAnswer(**refused(request, Denial(policy_id=STATE, reason=text, remedy=remedy)))
