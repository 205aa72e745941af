"""Gates of the feedback service: what is asked about sessions."""

from typing import TypeVar

from lictor_bus.gate import RUNTIMES, Gate, GateRefusal, Q, Repeats
from lictor_bus.gates.denials import (
    FEEDBACK,
    SHARE_OF_CALLS,
    SHARE_OF_REPORTS,
    counts_decisions,
    counts_outcomes,
    denies,
    refusals_of,
)
from lictor_bus.names import subjects
from lictor_schema.gates.gate import GateRequest
from lictor_schema.sessions.session_questions import (
    CancelApprovalRequest,
    Denial,
    FeedbackAnswer,
    FeedbackRequest,
    ResetRequest,
    RestoreRequest,
    SessionAnswer,
    SessionBeginAnswer,
    SessionBeginRequest,
    SnapshotRequest,
    StateAnswer,
    StopGateAnswer,
    StopGateRequest,
    ToolGateAnswer,
    ToolGateRequest,
    ToolResultAnswer,
    ToolResultReport,
    UsageReport,
)

S = TypeVar("S", bound=SessionAnswer)

# Together with its record, shorter than the two seconds after which an adapter takes silence for an answer.
_SESSION_WITHIN_S = 1.6
# Shorter than the ten seconds that an adapter waits for a snapshot, a restore or a reset.
_STATE_WITHIN_S = 8.0


def _denies_call(request_id: str, refusal: GateRefusal) -> ToolGateAnswer:
    policy_id, reason, remedy, _ = refusal
    denial = Denial(policy_id=policy_id, reason=reason, remedy=remedy)
    return denies(ToolGateAnswer, denials=(denial,))(request_id, refusal)


_FEEDBACK = refusals_of(
    FEEDBACK, on_record="the definition wants every call on record", again="try again"
)

TOOL = Gate(
    subject=subjects.GATE.documented(gate="tool"),
    title="gate.tool",
    description="Gate `tool`: may this tool be called?",
    request=ToolGateRequest,
    answer=ToolGateAnswer,
    service=FEEDBACK,
    asked_by=(RUNTIMES,),
    refuse=_denies_call,
    refusals=_FEEDBACK,
    within_s=_SESSION_WITHIN_S,
    share_of_payload=SHARE_OF_CALLS,
    repeats=Repeats.LOGGED,
    records=(subjects.GUARD_REFUSAL.any, subjects.GATED.where(gate="tool")),
    count=counts_decisions("tool"),
)
STOP = Gate(
    subject=subjects.GATE.documented(gate="stop"),
    title="gate.stop",
    description="Gate `stop`: may the agent stop working?",
    request=StopGateRequest,
    answer=StopGateAnswer,
    service=FEEDBACK,
    asked_by=(RUNTIMES,),
    refuse=denies(StopGateAnswer, status="incomplete"),
    refusals=_FEEDBACK,
    within_s=_SESSION_WITHIN_S,
    share_of_payload=SHARE_OF_CALLS,
    repeats=Repeats.LOGGED,
    records=(subjects.GUARD_REFUSAL.any, subjects.GATED.where(gate="stop")),
    count=counts_decisions("stop"),
)


def _session(
    operation: str,
    request: type[Q],
    answer: type[S],
    description: str,
    *,
    within_s: float = _SESSION_WITHIN_S,
    repeats: Repeats = Repeats.LOGGED,
) -> Gate[Q, S]:
    def refuse(request_id: str, refusal: GateRefusal) -> S:
        return answer(
            request_id=request_id,
            ok=False,
            reason=f"{refusal.reason} ({refusal.policy_id})",
            remedy=refusal.remedy,
            policy_id=refusal.policy_id,
        )

    return Gate(
        subject=subjects.SESSION_REQUEST.documented(operation=operation),
        title=f"session.{operation}",
        description=description,
        request=request,
        answer=answer,
        service=FEEDBACK,
        asked_by=(RUNTIMES,),
        refuse=refuse,
        refusals=_FEEDBACK,
        within_s=within_s,
        share_of_payload=SHARE_OF_REPORTS,
        repeats=repeats,
        count=counts_outcomes(operation),
    )


SESSION_BEGIN = _session(
    "begin", SessionBeginRequest, SessionBeginAnswer, "A session begins, or goes on."
)
SESSION_SHOW = _session(
    "show",
    GateRequest,
    SessionBeginAnswer,
    "A session as it began; changes nothing.",
    repeats=Repeats.READ,
)
SESSION_RESULT = _session(
    "result", ToolResultReport, ToolResultAnswer, "A call has ended; counted once."
)
SESSION_COLLECT = _session(
    "collect", FeedbackRequest, FeedbackAnswer, "What should the agent hear now?"
)
SESSION_USAGE = _session(
    "usage", UsageReport, SessionAnswer, "Tokens or money were used; counted once."
)
SESSION_CANCEL = _session(
    "cancel",
    CancelApprovalRequest,
    SessionAnswer,
    "A call is not wanted any more that waits for a person.",
)
SESSION_SNAPSHOT = _session(
    "snapshot",
    SnapshotRequest,
    StateAnswer,
    "Keep the session's state under a name.",
    within_s=_STATE_WITHIN_S,
)
SESSION_RESTORE = _session(
    "restore",
    RestoreRequest,
    StateAnswer,
    "Set the session's state back; what was logged stays.",
    within_s=_STATE_WITHIN_S,
)
SESSION_RESET = _session(
    "reset",
    ResetRequest,
    StateAnswer,
    "Forget what policies, providers and checkers know.",
    within_s=_STATE_WITHIN_S,
)
