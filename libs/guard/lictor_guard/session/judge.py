"""Judges the questions about a session, from its facts and the time: an entry for the log, and an answer.

The same facts, question, time and ids always give the same. What is answered is done only once its entry stands in
the log; without an entry nothing changes. `Session` serves every session that is pinned to one definition.
"""

from collections.abc import Callable, Mapping

from lictor_guard.definitions.compiled_definition import Guarded
from lictor_guard.facts.fact import Changes, Fact, Facts
from lictor_guard.facts.session_fact_changes import (
    calls_before,
    counts_for_nothing,
    seen,
    tally_of,
)
from lictor_guard.facts.session_facts import (
    HALT_ORDER,
    IDENTITY,
    RECENT,
    TALLY,
    WAITING,
    Identity,
    blocks_name,
    call_name,
    usage_name,
)
from lictor_guard.feedback import provider_runs
from lictor_guard.feedback.collection import COMPLETION, FeedbackQuestions
from lictor_guard.log.entry_stamp import (
    Fields,
    Stamp,
    done,
    identity_of,
    moment,
    refused,
    ringing_at,
)
from lictor_guard.log.fold import Folder
from lictor_guard.plugins.tool_policy import CheckContext
from lictor_guard.session import stop_gate, tool_gate
from lictor_guard.session.asking import (
    AskedQuestion,
    Known,
    Unsettled,
    denied_again,
    judge_asked,
    names_of_asked,
)
from lictor_guard.session.beginning import begun_fields, refusal_to_go_on, shown
from lictor_guard.session.call_approvals import CallApprovals, CallEntry
from lictor_guard.session.halts import Halts, judge_halts, noted_order
from lictor_guard.session.limits import exhausted
from lictor_guard.session.snapshots import SnapshotQuestions
from lictor_schema.gates.gate import GateRequest
from lictor_schema.gates.task_standing import TaskStanding
from lictor_schema.sessions.halt import HaltEntry
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    CallDenied,
    CallFinished,
    CallReserved,
    SessionBegun,
    SessionHalted,
    SessionResumed,
    StateReset,
    StateRestored,
    StopJudged,
    UsageCounted,
    WorkGiven,
)
from lictor_schema.sessions.session_questions import (
    Denial,
    SessionAnswer,
    SessionBeginAnswer,
    SessionBeginRequest,
    StopGateAnswer,
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
    ToolResultAnswer,
    ToolResultReport,
    UsageReport,
)

ALLOWED = "lictor.allowed"
BYPASSED = "lictor.completion.bypassed"


class SessionJudge:
    """Judge and fold for one compiled definition."""

    def __init__(self, guarded: Guarded, new_id: Callable[[], str]) -> None:
        self.guarded = guarded
        self.folder = Folder(guarded)
        self._stamp = Stamp(guarded, new_id)
        keeping = SnapshotQuestions(self._stamp, self.folder)
        self.snapshot = keeping.snapshot
        self.restore = keeping.restore
        self.reset = keeping.reset
        self._approvals = CallApprovals(self._stamp)
        self.names_for_cancel = self._approvals.names_for_cancel
        self.cancel = self._approvals.cancel
        collecting = FeedbackQuestions(self._stamp)
        self.names_for_collect = collecting.names_for_collect
        self.names_for_tick = collecting.names_for_tick
        self.collect_wants_standing = collecting.collect_wants_standing
        self.collect = collecting.collect
        self.tick_wants_standing = collecting.tick_wants_standing
        self.tick = collecting.tick

    # Which facts to load: for the question, and for folding whatever entry it leads to. Snapshot, restore and reset
    # take every fact of the session instead.

    def names_for_begin(self) -> frozenset[str]:
        """Also for showing a session."""
        return provider_runs.names_for_advice(self.guarded)

    def names_for_check(
        self, request: ToolGateRequest, known: Known | None = None
    ) -> frozenset[str]:
        """May this tool be called? `known` is given once people are asked about it."""
        call = self.folder.call(request)
        own = self.folder.names_of_reservation(call) | {IDENTITY, RECENT}
        return own if known is None else own | names_of_asked(call, known)

    def names_for_result(self, request: ToolResultReport) -> frozenset[str]:
        """A call has ended."""
        return self.folder.names_of_result(self.folder.call(request)) | {IDENTITY}

    def names_for_usage(self, request: UsageReport) -> frozenset[str]:
        """Tokens or money were used."""
        return frozenset((IDENTITY, TALLY, usage_name(request.report_id)))

    def names_for_stop(self, request: StopGateRequest) -> frozenset[str]:
        """May the agent stop?"""
        own = stop_gate.names_for_stop(self.guarded, request)
        return own | {IDENTITY, TALLY, WAITING, blocks_name(request.agent_id)}

    def names_to_fold(self, entry: AnySessionEntry) -> frozenset[str]:
        """The facts that folding an entry needs; SessionStateError for those that need all (`fold.WHOLE`)."""
        return self.folder.names(entry)

    # What an entry changes.

    def fold(self, entry: AnySessionEntry, sequence: int, facts: Facts) -> Changes:
        """What an entry at a sequence of the log changes, by full name."""
        return self.folder.fold(entry, sequence, facts)

    def fold_whole(
        self, entry: StateRestored | StateReset, whole: Mapping[str, Fact], kept: Mapping[str, Fact]
    ) -> Changes:
        """The same for an entry that concerns every fact; `kept` is the state of the snapshot it names."""
        return self.folder.fold_whole(entry, whole, kept)

    # Questions.

    def begin(
        self, request: SessionBeginRequest, facts: Facts, now_us: int
    ) -> tuple[SessionBegun | WorkGiven | None, SessionBeginAnswer]:
        """A session begins, or goes on with what it began with."""
        identity = identity_of(facts)
        if identity is None:
            entry = self._begun(request, facts, now_us)
            identity = self.folder.fold(entry, 1, facts)[IDENTITY]
            assert isinstance(identity, Identity)
            return entry, shown(self.guarded, request, identity, "The session has begun.")
        refusal = refusal_to_go_on(request, identity)
        if refusal is not None:
            return None, refusal
        answer = shown(self.guarded, request, identity, "The session goes on.")
        return self._work_given(request, facts, now_us) if request.prompted else None, answer

    def show(self, request: GateRequest, facts: Facts) -> SessionBeginAnswer:
        """The session as it stands; changes nothing."""
        identity = identity_of(facts)
        if identity is None:
            return SessionBeginAnswer(**refused(request, tool_gate.unknown_session()))
        return shown(self.guarded, request, identity, "The session is known.")

    def check(
        self,
        request: ToolGateRequest,
        facts: Facts,
        now_us: int,
        halts: Halts = (),
        *,
        known: Known | None = None,
    ) -> tuple[CallEntry | None, ToolGateAnswer | Unsettled]:
        """May this tool be called? Every denial has an entry; an allowed call has one when anybody counts it.

        Where nothing stands against it but policies that ask people, more must be known than for other calls: it is
        `Unsettled` until that is given as `known`.
        """
        identity = identity_of(facts)
        if identity is None:
            return None, self._deny(request, (tool_gate.unknown_session(),), None)
        call = self.folder.call(request)
        mark = seen(facts, call_name(call.call_id))
        context = CheckContext(
            now_us=moment(facts, now_us),
            session_id=request.session,
            definition=identity.definition,
            reserved=mark is not None and mark.reserved,
            wall_us=now_us,
            calls=calls_before(tally_of(facts), mark),
            labels=self.guarded.labels.standing(facts, call.call_id),
        )
        judged = (
            tool_gate.refused(request.refused)
            or tool_gate.misused(identity, request.task_id, call, mark)
            or judge_halts(halts)
            or tool_gate.judge(self.guarded, call, facts, identity, tally_of(facts), context)
        )
        denials = judged.denials
        if judged.asks and not denials:
            if known is None:
                return None, Unsettled()
            asked = AskedQuestion(call, judged.asks, facts, identity, mark, context.now_us, known)
            return self._ask(request, asked)
        if mark is not None and mark.entry_id is not None:
            # Decided and counted before: what was denied stays denied, for the reasons that there are now.
            again = denials or (tool_gate.denied_before(call),)
            return None, self._deny(request, again, mark.entry_id)
        if denials:
            entry = self._denied(request, denials, facts, now_us)
            return entry, self._deny(request, denials, entry.entry_id)
        reserve = judged.reserved and mark is None
        return self._reserved(request, facts, now_us) if reserve else None, self._allow(request)

    def _ask(
        self, request: ToolGateRequest, asked: AskedQuestion
    ) -> tuple[CallEntry | None, ToolGateAnswer | Unsettled]:
        mark = asked.mark
        if mark is None or mark.entry_id is None:
            return self._approvals.outcome(request, asked, judge_asked(asked))
        again = None if mark.approval is None else denied_again(asked, mark.approval)
        if again is None:
            return None, self._deny(request, (tool_gate.denied_before(asked.call),), mark.entry_id)
        return self._approvals.outcome(request, asked, again, mark.entry_id)

    def result(
        self, request: ToolResultReport, facts: Facts, now_us: int
    ) -> tuple[CallFinished | None, ToolResultAnswer]:
        """A call has ended: counted once, whoever reports it how often."""
        if identity_of(facts) is None:
            return None, ToolResultAnswer(**refused(request, tool_gate.unknown_session()))
        watched = self.guarded.watched_files
        if counts_for_nothing(seen(facts, call_name(request.call_id)), request.outcome):
            told = done(request, "This call was reported before.")
            return None, ToolResultAnswer(**told, duplicate=True, look_at=watched)
        mark = seen(facts, call_name(request.call_id))
        # Also of one that was allowed, and denied when it was asked about again: it was made all the same.
        allowed_by = mark.approval if mark is not None and mark.reserved else None
        entry = self._finished(request, self._stamp.on(request, facts, now_us), allowed_by)
        return entry, ToolResultAnswer(**done(request, "The result is recorded."), look_at=watched)

    def usage(
        self, request: UsageReport, facts: Facts, now_us: int
    ) -> tuple[UsageCounted | None, SessionAnswer]:
        """Tokens or money were used."""
        if identity_of(facts) is None:
            return None, SessionAnswer(**refused(request, tool_gate.unknown_session()))
        if seen(facts, usage_name(request.report_id)) is not None:
            return None, SessionAnswer(**done(request, "This usage was reported before."))
        entry = UsageCounted(
            kind="usage_counted",
            **self._stamp.on(request, facts, now_us),
            report_id=request.report_id,
            usage=request.usage,
        )
        return entry, SessionAnswer(**done(request, "The usage is counted."))

    def stop_wants_standing(self, request: StopGateRequest) -> bool:
        """Whether the completion checker looks at the task."""
        return stop_gate.needs_standing(self.guarded, subagent=request.subagent)

    def stop(
        self,
        request: StopGateRequest,
        facts: Facts,
        now_us: int,
        standing: TaskStanding | None,
        halts: Halts = (),
    ) -> tuple[StopJudged | None, StopGateAnswer]:
        """May the agent stop? Every stop has an entry, once; none for a session that nobody began."""
        identity = identity_of(facts)
        if identity is None:
            denial = tool_gate.unknown_session()
            return None, StopGateAnswer(
                **_decided(request, "deny", denial.policy_id, denial.reason),
                remedy=denial.remedy,
                status="incomplete",
            )
        fields = self._stamp.on(request, facts, now_us)
        at_us = fields["at_us"]
        limit = exhausted(identity, tally_of(facts), self.guarded.definition.budgets, at_us)
        bypass = "halt" if halts else limit
        outcome = stop_gate.judge_stop(self.guarded, request, facts, standing, at_us, bypass)
        last = stop_gate.asked_before(request, facts, at_us)
        again = last is not None and stop_gate.is_repeated(last, outcome)
        judged: Fields = {
            "status": outcome.status,
            "bypass": outcome.bypass,
            "attempt": outcome.attempt,
            "escalated": outcome.escalated,
            "remedy": outcome.remedy,
        }
        entry = StopJudged(
            kind="stop_judged",
            **fields,
            **judged,
            reason=outcome.counted or outcome.reason,
            allowed=outcome.allowed,
            subagent=request.subagent,
            request_id=request.request_id,
            stop_reason=request.reason,
        )
        recorded = not outcome.allowed or outcome.escalated or outcome.bypass is not None
        entry_id = last.entry_id if last is not None and again else entry.entry_id
        return None if again else entry, StopGateAnswer(
            request_id=request.request_id,
            decision="allow" if outcome.allowed else "deny",
            policy_id=COMPLETION if outcome.bypass is None else BYPASSED,
            reason=outcome.reason,
            definition_hash=self.guarded.hash,
            record_id=entry_id if recorded else None,
            **judged,
        )

    def names_for_halt_order(self) -> frozenset[str]:
        """An operator halts or resumes the session."""
        return frozenset((IDENTITY, TALLY, HALT_ORDER))

    def note_halt(
        self, order: HaltEntry, facts: Facts, now_us: int
    ) -> tuple[SessionHalted | SessionResumed | None, None]:
        """Such an order, for the session's own log; it is in force by its own."""
        return noted_order(self._stamp, order, facts, now_us), None

    # Entries and answers.

    def _begun(self, request: SessionBeginRequest, facts: Facts, now_us: int) -> SessionBegun:
        fields = self._stamp.on(request, facts, now_us)
        entry = SessionBegun(
            kind="session_begun",
            **fields,
            **begun_fields(self.guarded, request, fields["at_us"]),
        )
        return ringing_at(entry, self._rings(entry, facts))

    def _work_given(self, request: GateRequest, facts: Facts, now_us: int) -> WorkGiven:
        entry = WorkGiven(kind="work_given", **self._stamp.on(request, facts, now_us))
        return ringing_at(entry, self._rings(entry, facts))

    def _rings(self, entry: SessionBegun | WorkGiven, facts: Facts) -> int | None:
        after = facts.changed(self.folder.fold(entry, 1, facts))
        return provider_runs.next_due_us(self.guarded, after, entry.at_us)

    def _denied(
        self, request: ToolGateRequest, denials: tuple[Denial, ...], facts: Facts, now_us: int
    ) -> CallDenied:
        return CallDenied(
            kind="call_denied",
            **self._stamp.on(request, facts, now_us),
            call_id=request.call_id,
            tool=request.tool,
            params=request.params,
            resources=request.resources,
            denials=denials,
        )

    def _reserved(self, request: ToolGateRequest, facts: Facts, now_us: int) -> CallReserved:
        return CallReserved(
            kind="call_reserved",
            **self._stamp.on(request, facts, now_us),
            call_id=request.call_id,
            tool=request.tool,
            params=request.params,
            resources=request.resources,
        )

    def _finished(
        self, request: ToolResultReport, fields: Fields, allowed_by: str | None
    ) -> CallFinished:
        return CallFinished(
            kind="call_finished",
            **fields,
            call_id=request.call_id,
            tool=request.tool,
            params=request.params,
            outcome=request.outcome,
            resources=request.resources,
            duration_ms=request.duration_ms,
            error=request.error,
            output_sha256=request.output_sha256,
            output=request.output if self.guarded.needs_outputs else None,
            usage=request.usage,
            approval_request=allowed_by,
        )

    def _allow(self, request: ToolGateRequest) -> ToolGateAnswer:
        return ToolGateAnswer(
            **_decided(request, "allow", ALLOWED, "Nothing stands against it."),
            definition_hash=self.guarded.hash,
        )

    def _deny(
        self, request: ToolGateRequest, denials: tuple[Denial, ...], record_id: str | None
    ) -> ToolGateAnswer:
        reason = tool_gate.joined(each.reason for each in denials)
        return ToolGateAnswer(
            **_decided(request, "deny", denials[0].policy_id, reason),
            remedy=tool_gate.joined(each.remedy for each in denials),
            denials=denials,
            definition_hash=self.guarded.hash,
            record_id=record_id,
        )


def _decided(request: GateRequest, decision: str, policy_id: str, reason: str) -> Fields:
    return {
        "request_id": request.request_id,
        "decision": decision,
        "policy_id": policy_id,
        "reason": reason,
    }
