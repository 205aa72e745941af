"""What is published about sessions: decisions on DECISIONS, feedback on GUIDANCE, and timers of time-driven feedback.

Both are folds of SESSIONS, each by a worker of its own: what a session's entry leads to is published exactly once,
whatever dies whenever.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from lictor_bus.errors import MessageRefused, StaleState
from lictor_bus.fold.entity_timers import EntityTimerKind
from lictor_bus.fold.processor import (
    KEEP_QUIET_S,
    CountingState,
    Parsed,
    Stepped,
    StreamOutbox,
    read_or_refuse,
)
from lictor_bus.fold.timers import Timer
from lictor_bus.logs.session_log import is_session_entry, read_session_entry
from lictor_bus.names import streams, subjects
from lictor_bus.service.service import Runnable, ServiceRuntime
from lictor_bus.wire.delivery import Delivery
from lictor_bus.wire.publish import Outgoing
from lictor_guard.feedback.collection import COMPLETION
from lictor_guard.session.judge import BYPASSED
from lictor_schema.core.base_model import utc_millis
from lictor_schema.core.canonical_json import hash_bytes
from lictor_schema.core.time import from_micros
from lictor_schema.decisions.decision import (
    Decision,
    Disposition,
    OperatorNotice,
    RequiredAction,
    Severity,
    SuggestedStatus,
)
from lictor_schema.decisions.guard_decision import GuardDecision
from lictor_schema.decisions.receipt import ActionName
from lictor_schema.sessions.feedback import StampedFeedback
from lictor_schema.sessions.session_log import (
    AnySessionEntry,
    CallDenied,
    FeedbackDelivered,
    FeedbackRaised,
    SessionBegun,
    StateReset,
    StopJudged,
    WorkGiven,
)
from lictor_schema.sessions.session_questions import Denial

ESCALATED = "lictor.completion.escalated"
OPERATOR_CHANNEL = "operator_channel"

# In an entry's JSON the quotes within a text are escaped, so these are fields and nothing else.
_KIND = re.compile(rb'^\{"kind":"([a-z_]+)"')
_DEFINITION_HASH = re.compile(rb'"definition_hash":"(sha256:[0-9a-f]{64})"')

NameOf = Callable[[str], Awaitable[str]]
"""What the definition with this hash is called."""


class OfKinds:
    """Lets only entries of some kinds through, and finds the names of their definitions before they are folded."""

    def __init__(self, kinds: Iterable[str], name_of: NameOf | None = None) -> None:
        self._kinds = {kind.encode() for kind in kinds}
        self._name_of = name_of
        self.names: dict[str, str] = {}
        """By hash; empty when nobody wants to know."""

    async def begin(self) -> None:
        """Nothing steers this fold."""

    async def sift(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """Those that may lead to something; also whatever is no entry, for it to be refused."""
        found: list[Delivery] = []
        for delivery in deliveries:
            kind = _KIND.match(delivery.body)
            if kind is not None and kind[1] not in self._kinds and is_session_entry(delivery):
                continue
            await self._find_name(delivery)
            found.append(delivery)
        return found

    async def _find_name(self, delivery: Delivery) -> None:
        pinned = _DEFINITION_HASH.search(delivery.body)
        if self._name_of is None or pinned is None:
            return
        definition = pinned[1].decode()
        if definition not in self.names:
            self.names[definition] = await self._name_of(definition)


class DecisionsOfGuards(CountingState):
    """Denied calls, blocked stops, bypasses and escalations become decision records."""

    KINDS = ("call_denied", "stop_judged")

    def __init__(self, names: "dict[str, str]") -> None:
        self._names = names

    def parse(self, delivery: Delivery) -> Parsed[AnySessionEntry]:
        """An entry, kept together with the others of its task: that is where its decisions are published."""
        entry = _read(delivery)
        return Parsed(subjects.token(entry.task_id), entry.entry_id, entry)

    def step(
        self, state: int | None, message: Parsed[AnySessionEntry], delivery: Delivery
    ) -> Stepped[int, Outgoing]:
        """One entry; a record if it is a decision."""
        count = (state or 0) + 1
        entry = message.value
        if isinstance(entry, CallDenied):
            decision, gate = _on_denied_call(entry), "tool"
        elif isinstance(entry, StopJudged):
            decision, gate = _on_stop(entry), "stop"
        else:
            decision, gate = None, "tool"
        if decision is None:
            return Stepped(count, (), "no_decision", KEEP_QUIET_S)
        record = GuardDecision(
            record_id=entry.entry_id,
            recorded_at=_moment(entry.at_us),
            gate=gate,
            runtime=entry.runtime,
            task_id=entry.task_id,
            agent_id=entry.agent_id,
            session_id=entry.session_id,
            call_id=entry.call_id if isinstance(entry, CallDenied) else None,
            tool=entry.tool if isinstance(entry, CallDenied) else None,
            decision=decision,
            denials=_denials(entry),
            stop_status=entry.status if isinstance(entry, StopJudged) else None,
            definition=self._names[entry.definition_hash],
            definition_hash=entry.definition_hash,
            session_sequence=delivery.sequence,
            entry_sha256=hash_bytes(delivery.body),
        )
        disposition = decision.decision.value
        subject = subjects.guard_decision(entry.runtime, disposition, entry.task_id)
        output = Outgoing(subject, record.to_json(), record.record_id)
        return Stepped(count, (output,), disposition, KEEP_QUIET_S)


def _denials(entry: AnySessionEntry) -> tuple[Denial, ...]:
    if isinstance(entry, CallDenied):
        return entry.denials
    if isinstance(entry, StopJudged) and entry.remedy is not None:
        return (Denial(policy_id=COMPLETION, reason=entry.reason, remedy=entry.remedy),)
    return ()


def _on_denied_call(entry: CallDenied) -> Decision:
    return _decision(
        Disposition.BLOCK,
        entry.denials[0].policy_id,
        Severity.MEDIUM,
        "; ".join(each.reason for each in entry.denials),
    )


def _on_stop(entry: StopJudged) -> Decision | None:
    if not entry.allowed:
        return _decision(
            Disposition.BLOCK,
            COMPLETION,
            Severity.MEDIUM,
            entry.reason,
            status=SuggestedStatus.IN_PROGRESS,
        )
    if entry.escalated:
        return _escalation(entry)
    if entry.bypass is not None:
        return _decision(
            Disposition.ALLOW,
            BYPASSED,
            Severity.MEDIUM,
            f"bypassed({entry.bypass}): {entry.reason}",
            status=SuggestedStatus.PENDING_VERIFICATION,
        )
    return None


def _escalation(entry: StopJudged) -> Decision:
    message = f"Agent {entry.agent_id} ended task {entry.task_id} as {entry.status}: {entry.reason}"
    return _decision(
        Disposition.ESCALATE,
        ESCALATED,
        Severity.HIGH,
        entry.reason,
        status=SuggestedStatus.AWAITING_REVIEW,
        actions=(
            RequiredAction(
                action=ActionName.RAISE_ESCALATION, target=OPERATOR_CHANNEL, mandatory=True
            ),
        ),
        notice=OperatorNotice(
            required=True,
            channel=OPERATOR_CHANNEL,
            urgency=Severity.HIGH,
            message=message[:_MAX_TEXT],
            deadline="immediate",
        ),
    )


_MAX_TEXT = 64 * 1024


def _decision(
    disposition: Disposition,
    policy_id: str,
    severity: Severity,
    reason: str,
    *,
    status: SuggestedStatus | None = None,
    actions: tuple[RequiredAction, ...] = (),
    notice: OperatorNotice | None = None,
) -> Decision:
    return Decision(
        decision=disposition,
        policy_id=policy_id,
        severity=severity,
        reason=reason[:_MAX_TEXT],
        rewritten_message=None,
        suggested_status=status,
        required_actions=actions,
        operator_notice=notice,
    )


class Guidance(NamedTuple):
    """Of a session: what was raised and waits to be handed over, and when its timer rings."""

    key: str
    waiting: tuple[str, ...] = ()
    due_us: int | None = None


class GuidanceOfSessions:
    """Feedback becomes known when it is raised, once; and the session's timer is set to what its log says."""

    KINDS = (
        "session_begun",
        "work_given",
        "feedback_raised",
        "feedback_delivered",
        "stop_judged",
        "state_reset",
    )

    def parse(self, delivery: Delivery) -> Parsed[AnySessionEntry]:
        """An entry of the session that the subject names."""
        entry = _read(delivery)
        return Parsed(_session_of(delivery), entry.entry_id, entry)

    def step(
        self, state: Guidance | None, message: Parsed[AnySessionEntry], delivery: Delivery
    ) -> Stepped[Guidance, Outgoing]:
        """One entry; a message for every advice in it that was not known before."""
        del delivery
        entry = message.value
        _, waiting, due_us = state or Guidance(message.key)
        raised: tuple[StampedFeedback, ...] = ()
        if isinstance(entry, FeedbackRaised):
            raised = entry.feedback
            waiting = (*waiting, *(each.feedback_id for each in raised))
        elif isinstance(entry, FeedbackDelivered):
            raised = tuple(each for each in entry.feedback if each.feedback_id not in waiting)
            waiting = ()
        if isinstance(
            entry, SessionBegun | WorkGiven | FeedbackRaised | FeedbackDelivered | StateReset
        ):
            due_us = entry.next_due_us
        elif isinstance(entry, StopJudged) and entry.allowed and not entry.subagent:
            due_us = None
        after = Guidance(message.key, waiting, due_us)
        outputs = tuple(
            Outgoing(
                subjects.guidance(entry.runtime, message.key), each.to_json(), each.feedback_id
            )
            for each in raised
        )
        return Stepped(after, outputs, "advised" if outputs else "noted", KEEP_QUIET_S)

    def timers(self, before: Guidance | None, after: Guidance, certain: bool) -> Sequence[Timer]:
        """The session's timer, if it changed."""
        was = None if before is None else before.due_us
        if certain and was == after.due_us:
            return ()
        return (BELL.timer(after.key, after.due_us),)

    def decode_state(self, raw: bytes) -> Guidance:
        """Bytes from the store to state."""
        try:
            key, waiting, due_us = json.loads(raw)
            return Guidance(key, tuple(waiting), due_us)
        except (ValueError, TypeError):
            raise StaleState(f"{raw[:40]!r} is not what waits for a session") from None

    def encode_state(self, state: Guidance) -> bytes:
        """State to bytes for the store."""
        return json.dumps(state).encode()


_WRITTEN_BY_OTHERS = (
    "only the feedback service may write sessions' logs; find out who wrote this entry"
)


def _read(delivery: Delivery) -> AnySessionEntry:
    entry = read_or_refuse(
        lambda _: read_session_entry(delivery), delivery.body, _WRITTEN_BY_OTHERS
    )
    if entry is None:
        raise MessageRefused("this is no entry of a session", remedy=_WRITTEN_BY_OTHERS)
    return entry


def _session_of(delivery: Delivery) -> str:
    return delivery.subject.rpartition(".")[2]


def _moment(at_us: int) -> str:
    return utc_millis(from_micros(at_us))


def projectors(runtime: ServiceRuntime, name_of: NameOf) -> Sequence[Runnable]:
    """The two folds of this installation."""
    decisions = OfKinds(DecisionsOfGuards.KINDS, name_of)
    guidance = OfKinds(GuidanceOfSessions.KINDS)
    return [
        runtime.worker(
            streams.SESSIONS,
            subjects.SESSION_LOG.any,
            DecisionsOfGuards(decisions.names),
            StreamOutbox(
                runtime.client,
                streams.DECISIONS,
                subjects.GUARD_DECISION.where(task="{key}"),
                source=streams.SESSIONS,
            ),
            partition="decisions",
            steering=decisions,
        ),
        runtime.worker(
            streams.SESSIONS,
            subjects.SESSION_LOG.any,
            GuidanceOfSessions(),
            StreamOutbox(
                runtime.client,
                streams.GUIDANCE,
                subjects.GUIDANCE.where(session="{key}"),
                source=streams.SESSIONS,
            ),
            partition="guidance",
            steering=guidance,
        ),
    ]


BELL = EntityTimerKind(kind="guidance", of="session", set_by="the feedback service")
