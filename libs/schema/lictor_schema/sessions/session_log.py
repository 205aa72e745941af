"""The log of a guarded session: everything that changed it, in order, on the SESSIONS stream.

The log is the truth; what is kept elsewhere is a fold of it. Whoever folds it needs nothing else: no clock, no file,
no answer of another service. So an entry tells what was decided, not just what was asked.
"""

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter

from lictor_schema.approvals.call_approval import CallApprovalRequest, CallPermission
from lictor_schema.core.base_model import (
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    OptionalText,
    Positive,
    Text,
    UuidText,
)
from lictor_schema.core.canonical_json import refuse_duplicate_keys
from lictor_schema.sessions.feedback import ProviderFailure, StampedFeedback
from lictor_schema.sessions.session_questions import (
    MAX_RESOURCES,
    CallApproval,
    CallOutcome,
    Denial,
    Params,
    PathText,
    Resource,
    StateDocument,
    StopBypass,
    StopStatus,
    Usage,
)

K = TypeVar("K", bound=str)

Noted = Annotated[dict[PathText, Text | None], Field(max_length=1024)]
"""Facts in their stored form, by their full name; null forgets one."""


class SessionEntry(Model, Generic[K]):
    """What every entry says."""

    kind: K = Field(description="What happened")
    entry_id: UuidText = Field(description="Id of the entry; also the message id")
    at_us: Positive = Field(
        description="When, in microseconds since 1970; never before the entry that precedes it"
    )
    runtime: Label = Field(description="The runtime")
    session_id: Identifier = Field(description="The session")
    task_id: Identifier = Field(description="The governed task")
    agent_id: Identifier = Field(description="The agent that acted")
    definition_hash: ContentHash = Field(description="The definition the session is pinned to")


class SessionBegun(SessionEntry[Literal["session_begun"]]):
    """A session began; it is pinned to this version of its definition from here on."""

    definition: Label = Field(description="Name of the definition")
    version: Label = Field(description="Its version")
    deadline_us: Positive | None = Field(default=None, description="When its time is up")
    next_due_us: Positive | None = Field(
        default=None, description="When a time-driven provider is due next"
    )


class WorkGiven(SessionEntry[Literal["work_given"]]):
    """Somebody gave the agent new work: stops are counted anew."""

    next_due_us: Positive | None = Field(
        default=None, description="When a time-driven provider is due next"
    )


class CallReserved(SessionEntry[Literal["call_reserved"]]):
    """A call was allowed that a policy counts from this moment on."""

    call_id: Identifier = Field(description="The call")
    tool: Label = Field(description="The tool")
    params: Params = Field(description="Its parameters")
    resources: Annotated[tuple[Resource, ...], Field(max_length=MAX_RESOURCES)] = Field(
        default=(), description="The files it names"
    )
    permission: CallPermission | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The approval that lifted the policies which asked; null where none asked",
    )


class CallAsked(SessionEntry[Literal["call_asked"]]):
    """A call waits for people: nothing stands against it but policies that ask them. It is no denial of the call."""

    request: CallApprovalRequest = Field(description="What is asked: the call, and who decides")


class ApprovalCancelled(SessionEntry[Literal["approval_cancelled"]]):
    """The agent does not want to make a call any more that it asked about."""

    approval_request: UuidText = Field(description="The request")
    why: Text = Field(description="Why")
    request_id: Identifier | None = Field(
        default=None, description="The question; asked again, it changes nothing again"
    )


class CallDenied(SessionEntry[Literal["call_denied"]]):
    """A call was denied."""

    call_id: Identifier = Field(description="The call")
    tool: Label = Field(description="The tool")
    params: Params = Field(description="Its parameters")
    resources: Annotated[tuple[Resource, ...], Field(max_length=MAX_RESOURCES)] = Field(
        default=(), description="The files it names"
    )
    denials: Annotated[tuple[Denial, ...], Field(min_length=1, max_length=256)] = Field(
        description="Everything that stood against it"
    )
    approval: CallApproval | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The request about it, where people did not let it be made",
    )


class CallFinished(SessionEntry[Literal["call_finished"]]):
    """A call ended."""

    call_id: Identifier = Field(description="The call")
    tool: Label = Field(description="The tool")
    params: Params = Field(description="Its parameters")
    outcome: CallOutcome = Field(description="How it ended")
    resources: Annotated[tuple[Resource, ...], Field(max_length=MAX_RESOURCES)] = Field(
        default=(), description="The files it names, after the call"
    )
    duration_ms: Count | None = Field(default=None, description="How long it ran")
    error: OptionalText | None = Field(default=None, description="What went wrong, in short")
    output_sha256: ContentHash | None = Field(default=None, description="Hash of its output")
    output: OptionalText | None = Field(
        default=None, description="The begin of its output, where a provider or a label looks at it"
    )
    usage: Usage | None = Field(default=None, description="What was used since the last report")
    approval_request: UuidText | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="The request by which it was allowed; null where nobody was asked",
    )


class UsageCounted(SessionEntry[Literal["usage_counted"]]):
    """Usage was reported apart from a call."""

    report_id: Identifier = Field(description="The report")
    usage: Usage = Field(description="What was used")


class FeedbackRaised(SessionEntry[Literal["feedback_raised"]]):
    """A timer made providers run; what they said waits for the agent's next hook."""

    feedback: tuple[StampedFeedback, ...] = Field(default=(), description="What was raised")
    failures: tuple[ProviderFailure, ...] = Field(default=(), description="Who failed")
    noted: Noted = Field(
        default_factory=dict[str, str | None], description="What providers remember of their look"
    )
    next_due_us: Positive | None = Field(
        default=None, description="When a time-driven provider is due next"
    )


class FeedbackDelivered(SessionEntry[Literal["feedback_delivered"]]):
    """Advice was handed over, worded at this moment, also where a timer had raised it before."""

    call_id: Identifier = Field(description="The call after which it was asked for")
    feedback: tuple[StampedFeedback, ...] = Field(default=(), description="Everything handed over")
    withdrawn: tuple[Label, ...] = Field(
        default=(),
        description="Providers whose feedback waited, and that have nothing to say any more",
    )
    seen_files: tuple[PathText, ...] = Field(
        default=(), description="Watched files that were seen to exist, and count as seen"
    )
    failures: tuple[ProviderFailure, ...] = Field(default=(), description="Who failed")
    noted: Noted = Field(
        default_factory=dict[str, str | None], description="What providers remember of their look"
    )
    next_due_us: Positive | None = Field(
        default=None, description="When a time-driven provider is due next"
    )


class StopJudged(SessionEntry[Literal["stop_judged"]]):
    """The agent wanted to stop."""

    allowed: bool = Field(description="Whether it may")
    status: StopStatus = Field(description="What the work is")
    bypass: StopBypass | None = Field(default=None, description="What was used up, or `halt`")
    attempt: Count = Field(description="How often the stop was blocked, this time included")
    escalated: bool = Field(default=False, description="Whether a person must look")
    subagent: bool = Field(default=False, description="Whether a subagent stopped")
    request_id: Identifier | None = Field(
        default=None, description="The question; asked again, it is not counted again"
    )
    stop_reason: Text = Field(description="Why it wanted to stop")
    reason: Text = Field(description="Why it was judged so")
    remedy: Text | None = Field(default=None, description="What is missing, when it was blocked")


class StateKept(SessionEntry[Literal["state_kept"]]):
    """A snapshot was named: the state as of this entry."""

    snapshot_id: Identifier = Field(description="The snapshot")
    state_hash: ContentHash = Field(description="Hash of the state document")
    request_id: Identifier | None = Field(
        default=None, description="The question; asked again, it changes nothing again"
    )


class StateRestored(SessionEntry[Literal["state_restored"]]):
    """The state was set back; policies and providers may react to it."""

    snapshot_id: Identifier | None = Field(default=None, description="To this snapshot")
    to_sequence: Positive | None = Field(
        default=None, description="Stream sequence of the snapshot's entry"
    )
    document: StateDocument | None = Field(default=None, description="To this document")
    cause: Text = Field(description="Why")
    state_hash: ContentHash | None = Field(default=None, description="Hash of what came of it")
    request_id: Identifier | None = Field(
        default=None, description="The question; asked again, it changes nothing again"
    )


class StateReset(SessionEntry[Literal["state_reset"]]):
    """What policies and providers knew was forgotten."""

    cause: Text = Field(description="Why")
    state_hash: ContentHash | None = Field(default=None, description="Hash of what came of it")
    request_id: Identifier | None = Field(
        default=None, description="The question; asked again, it changes nothing again"
    )
    next_due_us: Positive | None = Field(
        default=None, description="When a time-driven provider is due next"
    )


class SessionHalted(SessionEntry[Literal["session_halted"]]):
    """An operator halted this session: every further call is denied. The order itself is on `lictor.halts`."""

    request_id: Identifier = Field(description="The order")
    by: Identifier = Field(description="Who ordered it")
    reason: Text = Field(description="Why")


class SessionResumed(SessionEntry[Literal["session_resumed"]]):
    """An operator let this session go on."""

    request_id: Identifier = Field(description="The order")
    by: Identifier = Field(description="Who ordered it")
    reason: Text = Field(description="Why")


AnySessionEntry = Annotated[
    SessionBegun
    | WorkGiven
    | CallReserved
    | CallAsked
    | ApprovalCancelled
    | CallDenied
    | CallFinished
    | UsageCounted
    | FeedbackRaised
    | FeedbackDelivered
    | StopJudged
    | StateKept
    | StateRestored
    | StateReset
    | SessionHalted
    | SessionResumed,
    Field(discriminator="kind"),
]
"""Any entry, told apart by `kind`."""

SESSION_ENTRY_ADAPTER: TypeAdapter[AnySessionEntry] = TypeAdapter(AnySessionEntry)


def parse_session_entry(data: bytes | str) -> AnySessionEntry:
    """Read one entry; raises pydantic.ValidationError, or CanonicalError for duplicate keys."""
    refuse_duplicate_keys(data)
    return SESSION_ENTRY_ADAPTER.validate_json(data, by_name=False, by_alias=True)
