"""Folding a session's log: what each entry changes in the facts. It asks no clock and nobody outside.

An entry may stand twice in the log (a result that was sent again while the store was away), and its time may be
earlier than that of the entry before (a clock that went back): folding counts a call once, and takes no later moment
to be earlier.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.errors import SessionStateError
from lictor_guard.facts.fact import Changes, Fact, Facts, full_name
from lictor_guard.facts.part_memory import LearnedFacts
from lictor_guard.facts.session_fact_changes import (
    calls_before,
    counted,
    counts_for_nothing,
    details,
    earned,
    last_stop,
    recent,
    ringing,
    runs_no_more,
    seen,
    state_change,
    tally_of,
    touched,
    waiting,
    with_changes,
)
from lictor_guard.facts.session_facts import (
    BROKEN,
    HALT_ORDER,
    IDENTITY,
    RECENT,
    STATE_CHANGE,
    TALLY,
    WAITING,
    CallSeen,
    Identity,
    LastHaltOrder,
    Snapshot,
    SubagentBlocks,
    Waiting,
    blocks_name,
    call_name,
    is_cadence,
    is_recent,
    snapshot_name,
    stop_name,
    usage_name,
)
from lictor_guard.facts.state_document import read_document
from lictor_guard.feedback.provider_runs import fold_spoken, fresh_cadences, names_to_fold_spoken
from lictor_guard.log.approval_fold import (
    approval_names,
    fold_asked,
    fold_cancelled,
    fold_refused,
    fold_used,
    permitted_by,
)
from lictor_guard.plugins.tool_call import Call, Result
from lictor_guard.plugins.tool_policy import CheckContext, Restored
from lictor_guard.session.limits import with_usage
from lictor_guard.session.tool_gate import CALL_ID_USED, reserving_checkers
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    ApprovalCancelled,
    CallAsked,
    CallDenied,
    CallFinished,
    CallReserved,
    FeedbackDelivered,
    FeedbackRaised,
    SessionBegun,
    SessionHalted,
    SessionResumed,
    StateKept,
    StateReset,
    StateRestored,
    StopJudged,
    UsageCounted,
    WorkGiven,
)
from lictor_schema.sessions.session_questions import CallOutcome, ToolGateRequest, ToolResultReport

WHOLE = (StateRestored, StateReset)
"""Entries that concern every fact of a session: `fold_whole` folds them."""
_OWNERS = ("policy/", "provider/", "checker/")


class Folder:
    """Folds the log of sessions that are pinned to one definition."""

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        # A provider's and a checker's keys do not depend on the call.
        self._always = frozenset(
            full_name(owner, key)
            for owner, keys in (
                *((each.owner, each.provider.keys) for each in guarded.providers),
                *((each.owner, each.checker.keys) for each in guarded.checkers),
            )
            for key in keys()
        )
        self._folds: Mapping[type[Any], Callable[[Any, int, Facts], Changes]] = {
            SessionBegun: self._begun,
            WorkGiven: self._work_given,
            CallReserved: self._reserved,
            CallAsked: self._asked,
            ApprovalCancelled: self._cancelled,
            CallDenied: self._denied,
            CallFinished: self._finished,
            UsageCounted: self._used,
            FeedbackRaised: self._spoken,
            FeedbackDelivered: self._spoken,
            StopJudged: self._stopped,
            StateKept: self._kept,
            SessionHalted: _ordered,
            SessionResumed: _ordered,
        }

    def call(
        self,
        told: CallReserved | CallDenied | CallFinished | ToolGateRequest | ToolResultReport,
    ) -> Call:
        """The call that an entry or a question is about."""
        return Call(
            call_id=told.call_id,
            tool=told.tool,
            params=told.params,
            resources=told.resources,
            agent_id=told.agent_id,
            spec=self._guarded.tool(told.tool),
        )

    def names(self, entry: AnySessionEntry) -> frozenset[str]:
        """The facts that folding this entry needs: a bounded number, however long the log is."""
        match entry:
            case SessionBegun() | WorkGiven():
                return frozenset((IDENTITY, TALLY, WAITING))
            case CallReserved():
                return self.names_of_reservation(self.call(entry)) | approval_names(entry)
            case CallAsked() | ApprovalCancelled():
                return approval_names(entry) | {TALLY}
            case CallDenied():
                own = frozenset((TALLY, RECENT, call_name(entry.call_id)))
                return own | approval_names(entry)
            case CallFinished():
                return self.names_of_result(self.call(entry))
            case UsageCounted():
                return frozenset((TALLY, usage_name(entry.report_id)))
            case FeedbackRaised() | FeedbackDelivered():
                return names_to_fold_spoken(entry) | {TALLY}
            case StopJudged():
                return frozenset((TALLY, WAITING, blocks_name(entry.agent_id)))
            case StateKept():
                return frozenset((TALLY, STATE_CHANGE, snapshot_name(entry.snapshot_id)))
            case SessionHalted() | SessionResumed():
                return frozenset((TALLY, HALT_ORDER))
            case StateRestored() | StateReset():
                raise SessionStateError(f"{entry.kind} concerns every fact; use fold_whole")

    def names_of_reservation(self, call: Call) -> frozenset[str]:
        """What allowing a call may change: every policy and checker may count it, whichever section it stands in."""
        counting = reserving_checkers(self._guarded, call)
        own = (
            *((each.owner, each.policy.keys) for each in self._guarded.policies),
            *((each.owner, each.checker.keys_of) for each in counting),
        )
        always = (
            full_name(owner, key)
            for owner, keys in ((each.owner, each.checker.keys) for each in counting)
            for key in keys()
        )
        labels = self._guarded.labels.names(call.call_id)
        return frozenset(
            (TALLY, BROKEN, call_name(call.call_id), *_keys(own, call), *always, *labels)
        )

    def names_of_result(self, call: Call) -> frozenset[str]:
        """What a result may change: every policy, provider and checker is given it."""
        own = (
            *((each.owner, each.policy.keys) for each in self._guarded.policies),
            *((each.owner, each.checker.keys_of) for each in self._guarded.checkers),
        )
        labels = self._guarded.labels.names(call.call_id)
        mark = call_name(call.call_id)
        return frozenset((TALLY, RECENT, BROKEN, mark, *_keys(own, call), *self._always, *labels))

    def fold(self, entry: AnySessionEntry, sequence: int, facts: Facts) -> Changes:
        """What an entry at a sequence of the log changes, by full name."""
        folding = self._folds.get(type(entry))
        if folding is None:
            raise SessionStateError(f"{entry.kind} concerns every fact; use fold_whole")
        return folding(entry, sequence, facts)

    def fold_whole(
        self, entry: StateRestored | StateReset, whole: Mapping[str, Fact], kept: Mapping[str, Fact]
    ) -> Changes:
        """What a restore or a reset changes, from all facts; `kept` is the state of the snapshot that is named."""
        tally = touched(Facts({TALLY: whole.get(TALLY)}), entry)
        if isinstance(entry, StateReset):
            forgotten = {
                name: None
                for name, fact in whole.items()
                if _is_forgotten(name) and fact.retention != "lasting"
            }
            fresh = fresh_cadences(self._guarded, tally.calls)
            marked = state_change(entry)
            return {**forgotten, **fresh, **marked, WAITING: ringing(entry), TALLY: tally}
        state = kept if entry.document is None else read_document(entry.document, self._guarded)
        changes: dict[str, Fact | None] = {
            name: None for name, fact in whole.items() if fact.retention == "state"
        }
        # Nothing logged makes way, not even for a document that was taken in before that was asked.
        logged = {name for name, fact in whole.items() if fact.retention != "state"}
        changes |= {name: fact for name, fact in state.items() if name not in logged}
        changes |= {**state_change(entry), TALLY: tally}
        after = {**whole, **changes}
        restored = Restored(entry.snapshot_id, entry.cause, tally.last_us)
        learned = LearnedFacts(Facts({BROKEN: whole.get(BROKEN)}))
        for owner, on_restored in self._restorable():
            mine = _owned(after, owner)
            learned.hear(owner, lambda tell=on_restored, mine=mine: tell(restored, mine))
        return {**changes, **learned.done()}

    def _restorable(
        self,
    ) -> Iterable[tuple[str, Callable[[Restored, Mapping[str, object]], Changes]]]:
        for each in self._guarded.policies:
            yield each.owner, each.policy.on_restored
        for each in self._guarded.providers:
            yield each.owner, each.provider.on_restored
        for each in self._guarded.checkers:
            yield each.owner, each.checker.on_restored

    def _begun(self, entry: SessionBegun, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        if facts.get(IDENTITY) is not None:
            return {TALLY: tally}
        identity = Identity(
            runtime=entry.runtime,
            session_id=entry.session_id,
            task_id=entry.task_id,
            definition=entry.definition,
            version=entry.version,
            definition_hash=entry.definition_hash,
            began_us=entry.at_us,
            deadline_us=entry.deadline_us,
        )
        return {IDENTITY: identity, TALLY: tally, WAITING: ringing(entry)}

    def _work_given(self, entry: WorkGiven, _: int, facts: Facts) -> Changes:
        return {
            TALLY: with_changes(touched(facts, entry), blocks=0, subagent_blocks=0, ended=None),
            stop_name(entry.agent_id, subagent=False): None,
            WAITING: with_changes(ringing(entry), feedback=waiting(facts)),
        }

    def _reserved(self, entry: CallReserved, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        name = call_name(entry.call_id)
        permitted, by_people = fold_used(entry, tally.last_us, facts), permitted_by(entry)
        counted_before = seen(facts, name)
        if counted_before is not None:
            marked = {name: with_changes(counted_before, **by_people)} if by_people else {}
            return {**permitted, **marked, TALLY: tally}
        calls = calls_before(tally, None)
        call, context = self.call(entry), self._context(entry, tally.last_us, calls=calls)
        learned = LearnedFacts(facts)
        counting = (
            *((each.owner, each.policy) for each in self._guarded.policies),
            *((each.owner, each.checker) for each in reserving_checkers(self._guarded, call)),
        )
        for owner, part in counting:
            own = facts.of(owner)
            learned.hear(
                owner,
                lambda part=part, own=own: (
                    part.on_allowed(call, own, context) if part.reserves(call) else {}
                ),
            )
        mark = CallSeen(
            reserved=True, signature=call.signature, agent_id=call.agent_id, **by_people
        )
        after = with_changes(tally, running=tally.running + 1, ended=None)
        labels = self._guarded.labels.on_allowed(call, facts, tally.last_us)
        return {**learned.done(), **permitted, **labels, name: mark, TALLY: after}

    def _asked(self, entry: CallAsked, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        return {**fold_asked(entry, tally.last_us, facts), TALLY: with_changes(tally, ended=None)}

    def _cancelled(self, entry: ApprovalCancelled, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        return {**fold_cancelled(entry, tally.last_us, facts), TALLY: tally}

    def _denied(self, entry: CallDenied, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        name = call_name(entry.call_id)
        mark = seen(facts, name) or CallSeen()
        call = self.call(entry)
        refused = fold_refused(entry, tally.last_us, facts)
        another = mark.of_another(call.signature, call.agent_id) or _is_used_up(mark, entry)
        if mark.outcome is not None or another:
            # The id is that of a call which this denial is not about.
            return {**refused, TALLY: tally}
        tally = runs_no_more(tally, mark)
        approval = mark.approval if entry.approval is None else entry.approval.request_id
        return {
            **refused,
            TALLY: with_changes(tally, calls=tally.calls + 1, denied=tally.denied + 1),
            **self._recent(entry, call, "denied", facts, tally.last_us),
            name: with_changes(mark, outcome="denied", entry_id=entry.entry_id, approval=approval),
        }

    def _finished(self, entry: CallFinished, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        name = call_name(entry.call_id)
        mark = seen(facts, name)
        if counts_for_nothing(mark, entry.outcome):
            return {TALLY: tally}
        call = self.call(entry)
        result = Result(earned(mark, entry.outcome), entry.error, entry.duration_ms)
        reserved = mark is not None and mark.reserved
        calls = calls_before(tally, mark)
        context = self._context(entry, tally.last_us, reserved, calls)
        learned = LearnedFacts(facts)
        for owner, on_result in self._hearers():
            own = facts.of(owner)
            learned.hear(owner, lambda tell=on_result, own=own: tell(call, result, own, context))
        labels = self._guarded.labels.on_result(
            call, facts, tally.last_us, ran=result.ran, output=entry.output
        )
        if mark is None or mark.outcome is None:
            tally = counted(runs_no_more(tally, mark), entry)
        return {
            **learned.done(),
            **labels,
            TALLY: with_changes(with_usage(tally, entry.usage), ended=None),
            **self._recent(entry, call, entry.outcome, facts, tally.last_us),
            name: CallSeen(outcome=entry.outcome, reserved=reserved),
        }

    def _recent(
        self,
        entry: CallDenied | CallFinished,
        call: Call,
        outcome: CallOutcome,
        facts: Facts,
        at_us: int,
    ) -> Changes:
        calls = recent(facts, call, outcome, at_us)
        return {RECENT: calls, **(details(calls, entry) if self._guarded.keeps_calls else {})}

    def _hearers(self) -> Iterable[tuple[str, Callable[..., Changes]]]:
        for each in self._guarded.policies:
            yield each.owner, each.policy.on_result
        for each in self._guarded.providers:
            yield each.owner, each.provider.on_result
        for each in self._guarded.checkers:
            yield each.owner, each.checker.on_result

    def _used(self, entry: UsageCounted, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        name = usage_name(entry.report_id)
        if seen(facts, name) is not None:
            return {TALLY: tally}
        return {TALLY: with_usage(tally, entry.usage), name: CallSeen(outcome="ok")}

    def _spoken(self, entry: FeedbackRaised | FeedbackDelivered, _: int, facts: Facts) -> Changes:
        return {**fold_spoken(self._guarded, entry, facts), TALLY: touched(facts, entry)}

    def _stopped(self, entry: StopJudged, _: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        marked = {stop_name(entry.agent_id, subagent=entry.subagent): last_stop(entry, tally)}
        if entry.subagent:
            name = blocks_name(entry.agent_id)
            if entry.allowed:
                # It has ended: the next under its name begins anew.
                return {**marked, TALLY: tally, name: None}
            before = facts.get(name)
            # A stop that is judged again is one stop.
            more = entry.attempt - (before.count if isinstance(before, SubagentBlocks) else 0)
            total = tally.subagent_blocks + max(more, 0)
            return {
                **marked,
                TALLY: with_changes(tally, subagent_blocks=total),
                name: SubagentBlocks(count=entry.attempt),
            }
        if not entry.allowed:
            return {**marked, TALLY: with_changes(tally, blocks=entry.attempt, ended=None)}
        blocks = 0 if entry.status == "complete" else tally.blocks
        # The timer is taken off: an agent that continues sets it anew.
        return {
            **marked,
            TALLY: with_changes(tally, blocks=blocks, ended=entry.status),
            WAITING: Waiting(feedback=waiting(facts)),
        }

    def _kept(self, entry: StateKept, sequence: int, facts: Facts) -> Changes:
        tally = touched(facts, entry)
        name = snapshot_name(entry.snapshot_id)
        if facts.get(name) is not None:
            return {TALLY: tally}
        snapshot = Snapshot(sequence=sequence, state_hash=entry.state_hash)
        return {**state_change(entry), TALLY: tally, name: snapshot}

    def _context(
        self, entry: AnySessionEntry, at_us: int, reserved: bool = False, calls: int = 0
    ) -> CheckContext:
        name = self._guarded.definition.metadata.name
        return CheckContext(at_us, entry.session_id, name, reserved, calls=calls)


def _is_used_up(mark: CallSeen, entry: CallDenied) -> bool:
    """Whether a call that people let be made goes on, and what was denied under its id was another."""
    by_people = mark.reserved and mark.approval is not None
    return by_people and any(each.policy_id == CALL_ID_USED for each in entry.denials)


def _ordered(entry: SessionHalted | SessionResumed, _: int, facts: Facts) -> Changes:
    # The agent did nothing.
    tally = with_changes(touched(facts, entry), active_us=tally_of(facts).active_us)
    return {TALLY: tally, HALT_ORDER: LastHaltOrder(request_id=entry.request_id)}


def _keys(
    owners: Iterable[tuple[str, Callable[[Call], Iterable[str]]]], call: Call
) -> Iterable[str]:
    for owner, keys in owners:
        try:
            yield from [full_name(owner, key) for key in keys(call)]
        except Exception:  # noqa: BLE001 (its check then finds no fact, and denies)
            continue


def _is_forgotten(name: str) -> bool:
    return name.startswith(_OWNERS) or is_cadence(name) or is_recent(name) or name == BROKEN


def _owned(facts: Mapping[str, Fact | None], owner: str) -> dict[str, object]:
    prefix = full_name(owner, "")
    return {
        name.removeprefix(prefix): fact
        for name, fact in facts.items()
        if fact is not None and name.startswith(prefix)
    }
