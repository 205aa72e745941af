"""What an operation ends with: plain answers for a runtime, whatever happened on the way to them."""

from lictor.fast.frozen_values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

UNANSWERED = "lictor.client.unanswered"
MALFORMED_ANSWER = "lictor.client.malformed-answer"
MALFORMED_QUESTION = "lictor.client.malformed-question"
TOO_LARGE = "lictor.client.too-large"
RESULTS_UNKNOWN = "lictor.client.results-unknown"
"""Results of earlier calls may be lost on this machine."""
UNKNOWN_SESSION = "lictor.unknown-session"
"""What the service says of a session that never began."""
REFUSED_FOR_GOOD = "feedback.malformed-request"
"""What the service says of a question that it will never take, however often it is asked."""


def with_remedy(reason: str, remedy: "str | None") -> str:
    """What is wrong, and what to do about it, in one line."""
    return f"{reason} To do: {remedy}" if remedy else reason


def beyond_agent(what: str) -> str:
    """A remedy that only whoever runs the agent can apply: an agent that is asked for it would try, or go round in
    circles. As `lictor_guard.text.wording.beyond_agent` says it."""
    return f"you can't mend this: report it to whoever runs you (for them: {what})"


class DenialReason(Value):
    """One reason against a call."""

    policy_id: str
    reason: str
    remedy: str


class ToolApproval(Value):
    """How the request to people about a call stands, as the gate told it."""

    request_id: str
    standing: str
    """`waiting`, `approved`, `rejected`, `expired`, `cancelled`, `stale` or `edited`."""
    expires_at: str
    guidance: "str | None" = None
    """What whoever decided tells the agent."""
    decided_by: "tuple[str, ...]" = ()
    params: "Mapping[str, Any] | None" = None
    """Other parameters, which a person approved instead; exactly in standing `edited`."""


class Advice(Value):
    """What the agent should hear; empty when there is nothing, or nobody answered."""

    text: str = ""
    feedback: "tuple[Mapping[str, Any], ...]" = ()
    failures: "tuple[Mapping[str, Any], ...]" = ()
    answered: bool = True


class ToolVerdict(Value):
    """Whether a tool may be called; `text` tells the agent every reason against it and what would help.

    Only `allowed` allows. A call that is `asked` about waits for a person.
    """

    allowed: bool
    text: str
    denials: "tuple[DenialReason, ...]" = ()
    record_id: "str | None" = None
    definition_hash: "str | None" = None
    advice: Advice = Advice()
    """What the agent should hear beside a denial: a call that is denied has ended, and counts like any other."""
    asked: bool = False
    """Whether a person decides: it is not allowed, and not denied either. The same call may be asked about again."""
    approval: "ToolApproval | None" = None
    """The request to people about this call, where there is one; always where `asked`."""
    retry_after_ms: "int | None" = None
    """When to ask again at the earliest."""

    @property
    def recorded(self) -> bool:
        """Whether the denial stands in the session's log."""
        return not self.allowed and not self.asked and self.record_id is not None


class SessionStanding(Value):
    """A session as the service knows it; `ok` is false when it does not."""

    ok: bool
    reason: str
    remedy: "str | None" = None
    answered: bool = True
    definition: "str | None" = None
    version: "str | None" = None
    definition_hash: "str | None" = None
    deadline_at: "str | None" = None
    resource_params: "Mapping[str, tuple[str, ...]]" = {}  # noqa: RUF012 -- never changed
    mounts: "tuple[str, ...]" = ()
    look_at: "tuple[str, ...]" = ()
    tell_output: bool = False
    """Whether results are to carry the begin of what the call returned."""
    stop_on_silence: str = "block"
    policy_id: "str | None" = None

    @property
    def unknown(self) -> bool:
        """Whether the service knows for sure that it never began; not just that it can't tell now."""
        return self.policy_id == UNKNOWN_SESSION

    @property
    def text(self) -> str:
        """What was done, or why not and what would help."""
        return with_remedy(self.reason, self.remedy)


class ReportVerdict(Value):
    """Whether a report was taken; `look_at` are files to look at before asking for advice."""

    ok: bool
    text: str
    answered: bool = True
    duplicate: bool = False
    look_at: "tuple[str, ...]" = ()
    hopeless: bool = False
    """Whether nobody will ever take the report as it is; one that says less may be taken."""
    policy_id: "str | None" = None

    @property
    def unknown(self) -> bool:
        """As for a `Standing`."""
        return self.policy_id == UNKNOWN_SESSION


class StopVerdict(Value):
    """Whether the agent may stop; `text` says what is left to do, or why nobody could tell."""

    allowed: bool
    status: str
    """`complete`, `incomplete`, `bypassed`, `unchecked`, or `unanswered`."""
    text: str
    policy_id: str
    answered: bool = True
    bypass: "str | None" = None
    attempt: int = 0
    escalated: bool = False
    record_id: "str | None" = None
    definition_hash: "str | None" = None

    @property
    def counted(self) -> bool:
        """Whether the service counts this block; one that nobody counts could go on for ever."""
        return self.attempt > 0


class StateChange(Value):
    """Whether a state was kept, set back or reset."""

    ok: bool
    text: str
    answered: bool = True
    snapshot_id: "str | None" = None
    state_hash: "str | None" = None
    document: "Mapping[str, Any] | None" = None
