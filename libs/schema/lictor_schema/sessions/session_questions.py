"""Tool calls of a guarded session: what an adapter asks and reports, and what it is answered.

A file is named by the adapter, not by the agent: only where the agent runs can a link be followed, a file be looked
at, or its content be hashed. So every question about a call carries `resources`, and every spelling of one file has
one `key` there.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    ContentHash,
    Count,
    DecimalText,
    Identifier,
    Label,
    Model,
    OptionalText,
    Positive,
    Text,
    Timestamp,
    UtcMillis,
    UuidText,
)
from lictor_schema.events.claim import Claim
from lictor_schema.gates.gate import GateAnswer, GateRequest
from lictor_schema.sessions.feedback import ProviderFailure, StampedFeedback

MAX_RESOURCES = 64
MAX_LOOKED_AT = 256
"""So many files an adapter looks at for one question."""
PathText = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
"""A path as text; it may hold any character, a line break too."""

Params = Annotated[dict[Label, JsonValue], Field(max_length=256)]
"""The parameters of a call: a JSON object."""

ResourceState = Literal["file", "directory", "missing", "other", "unknown"]
CallOutcome = Literal["ok", "failed", "denied", "invalid", "crashed", "interrupted"]
"""How a call ended. Only `ok` is a success; every outcome counts as a call."""


class Resource(Model):
    """A file that a call names, as the adapter saw it at that moment."""

    param: Label = Field(description="The parameter that names it, such as `file_path`")
    given: PathText = Field(description="As the caller spelled it")
    key: PathText | None = Field(
        description="Its one canonical name: relative to the workspace, or absolute when outside;"
        " null when it can't be resolved"
    )
    state: ResourceState = Field(description="What stands there; `unknown` when it can't be told")
    digest: ContentHash | None = Field(
        default=None, description="Hash of its content; null where the adapter gives none"
    )
    problem: Text | None = Field(default=None, description="Why it could not be resolved")

    @model_validator(mode="after")
    def _resolved_or_not(self) -> Self:
        if (self.key is None) != (self.problem is not None):
            raise PydanticCustomError(
                "resource_problem", "problem must be given exactly when key is null"
            )
        return self


class SeenFile(Model):
    """A file that the adapter was asked to look at (`look_at`), and what it saw."""

    path: PathText = Field(description="As `look_at` spelled it")
    state: ResourceState = Field(description="What stands there; `unknown` when it can't be told")
    size: Count | None = Field(default=None, description="Its size in bytes, of a file")


Resources = Annotated[tuple[Resource, ...], Field(max_length=MAX_RESOURCES)]
"""The files that the parameters of a call name."""

SeenFiles = Annotated[tuple[SeenFile, ...], Field(max_length=MAX_LOOKED_AT)]


class Usage(Model):
    """What was used since the last report of usage."""

    input_tokens: Count = Field(default=0, description="Tokens the model read")
    output_tokens: Count = Field(default=0, description="Tokens the model wrote")
    cost_usd: DecimalText | None = Field(default=None, description="What it cost, in US dollars")


class SessionBeginRequest(GateRequest):
    """A session begins, or goes on: asking again changes nothing and tells the same."""

    definition: Label | None = Field(
        default=None, description="Name of the agent definition; null for the service's default"
    )
    definition_hash: ContentHash | None = Field(
        default=None, description="Exactly this version; null for the newest"
    )
    deadline_at: Timestamp | None = Field(
        default=None, description="An earlier deadline than the definition sets"
    )
    prompted: bool = Field(
        default=False, description="Whether somebody has just given the agent new work"
    )


class Denial(Model):
    """One reason against a call."""

    policy_id: Identifier = Field(description="The policy that stands against it")
    reason: Text = Field(description="Why")
    remedy: Text = Field(description="What would help")


class CallAsk(Model):
    """One policy that lets a call be made only if people say so."""

    policy_id: Identifier = Field(description="The policy that asks")
    reason: Text = Field(description="Why")
    approvers: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(
        default=(), description="People or groups, one of whom must decide; empty for any approver"
    )
    needed: Annotated[int, Field(ge=1, le=16)] = Field(
        default=1, description="How many of them must approve"
    )
    decide_within_s: Positive = Field(description="Until when they may, from the question on")
    use_within_s: Positive = Field(description="How long an approval may be used")
    remember: Annotated[tuple[Literal["session", "rule"], ...], Field(max_length=2)] = Field(
        default=(), description="What an approver may decide for more than this one call"
    )
    pauses_deadline: bool = Field(
        default=True, description="Whether the session's deadline stands still meanwhile"
    )


CallAsks = Annotated[tuple[CallAsk, ...], Field(min_length=1, max_length=64)]

ApprovalStanding = Literal[
    "waiting", "approved", "rejected", "expired", "cancelled", "stale", "edited"
]


class CallApproval(Model):
    """How the request for a call stands, for whoever waits."""

    request_id: UuidText = Field(description="The request")
    standing: ApprovalStanding = Field(
        description="How it stands; `edited`: a person wants other parameters"
    )
    expires_at: UtcMillis = Field(description="Until when somebody may decide, or it may be used")
    guidance: OptionalText | None = Field(
        default=None, description="What whoever decided tells the agent"
    )
    decided_by: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(
        default=(), description="Who has decided so far"
    )
    params: Params | None = Field(
        default=None, description="The parameters to call with; exactly in standing `edited`"
    )
    may_ask_again: Literal[True] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="With `rejected`: whether the same call may be asked about again at once",
    )
    settled_at: UtcMillis | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Until when people were waited for, by the clock of the approval service",
    )


class ToolGateRequest(GateRequest):
    """May this tool be called?"""

    call_id: Identifier = Field(description="Unique id of the call within its session")
    tool: Label = Field(description="The tool")
    params: Params = Field(description="Its parameters")
    resources: Annotated[tuple[Resource, ...], Field(max_length=MAX_RESOURCES)] = Field(
        default=(), description="The files that the parameters name"
    )
    refused: Denial | None = Field(
        default=None,
        description="Why the adapter denies the call itself: it is only told of, to be on the record;"
        " null for a call that is asked about",
    )
    knows_ask: bool = Field(
        default=False,
        description="Whether the asking side knows the answer `ask`; whoever does not is denied instead",
    )


class CancelApprovalRequest(GateRequest):
    """The agent does not want to make a call any more that waits for a person."""

    approval_request: UuidText = Field(description="The request")
    why: Text = Field(description="Why")


class ToolResultReport(GateRequest):
    """A call has ended."""

    call_id: Identifier = Field(description="The call; a second report of it counts for nothing")
    tool: Label = Field(description="The tool")
    params: Params = Field(description="Its parameters")
    outcome: CallOutcome = Field(description="How it ended")
    resources: Annotated[tuple[Resource, ...], Field(max_length=MAX_RESOURCES)] = Field(
        default=(), description="The files that the parameters name, after the call"
    )
    duration_ms: Count | None = Field(default=None, description="How long it ran")
    error: OptionalText | None = Field(default=None, description="What went wrong, in short")
    output_sha256: ContentHash | None = Field(default=None, description="Hash of its output")
    output: OptionalText | None = Field(
        default=None,
        description="The begin of its output; only where the session's answer asked for it"
        " (`tell_output`)",
    )
    usage: Usage | None = Field(default=None, description="What was used since the last report")


class TentativeOutput(Model):
    """What an agent hands over as its output before it stops, such as a structured answer."""

    value: JsonValue = Field(description="The output itself")
    files: SeenFiles | None = Field(
        default=None,
        description="The files to look at before a stop; null without a view of them",
    )
    subagent: bool = Field(default=False, description="Whether a subagent hands it over")


class FeedbackRequest(GateRequest):
    """What should the agent hear now? Asking again with the same call tells the same again."""

    call_id: Identifier = Field(description="The call that has just ended, or any unique id")
    files: SeenFiles = Field(default=(), description="The files that were to be looked at")
    output: TentativeOutput | None = Field(
        default=None,
        description="The output that the call handed over: the agent hears what its completion lacks;"
        " null for any other call",
    )


class StopGateRequest(GateRequest):
    """May the agent stop working? Asking again with the same `request_id`, with no call in between, counts once."""

    reason: Text = Field(description="Why it wants to stop")
    final_message: OptionalText | None = Field(default=None, description="Its last words")
    tentative_output: JsonValue | None = Field(
        default=None, description="What it hands over; null for no more than its last words"
    )
    claim: Claim | None = Field(default=None, description="What it claims, if anything")
    files: SeenFiles | None = Field(
        default=None, description="The files that were to be looked at; null without a view of them"
    )
    subagent: bool = Field(
        default=False,
        description="Whether a subagent of the session stops, not the session's agent",
    )


class UsageReport(GateRequest):
    """Tokens or money used, reported apart from a call."""

    report_id: Identifier = Field(description="A second report with this id counts for nothing")
    usage: Usage = Field(description="What was used since the last report")


class SnapshotRequest(GateRequest):
    """Keep the session's state under a name."""

    snapshot_id: Identifier = Field(description="The name; one that is taken is refused")
    with_document: bool = Field(default=False, description="Whether to return the state itself")


class StateDocument(Model):
    """The state of a session as data: by owner, key and kind, without what only logs."""

    format: Literal[1] = Field(description="Version of this document")
    definition_hash: ContentHash = Field(description="The definition that it belongs to")
    facts: Annotated[dict[PathText, Text], Field(max_length=100_000)] = Field(
        description="Each fact in its stored form, by its full name"
    )


class RestoreRequest(GateRequest):
    """Set the session's state back: to a snapshot, or to a document. What was logged stays."""

    snapshot_id: Identifier | None = Field(default=None, description="The snapshot")
    document: StateDocument | None = Field(default=None, description="The state itself")
    cause: Text = Field(description="Why, such as `the workspace was rolled back`")

    @model_validator(mode="after")
    def _exactly_one_source(self) -> Self:
        if (self.snapshot_id is None) == (self.document is None):
            raise PydanticCustomError(
                "restore_source", "exactly one of snapshot_id and document must be given"
            )
        return self


class ResetRequest(GateRequest):
    """Forget what the session's policies and providers know; identity, budgets and call ids stay."""

    cause: Text = Field(description="Why")


class ToolGateAnswer(GateAnswer):
    """The answer of the tool gate: with every reason against the call, not just the first."""

    denials: Annotated[tuple[Denial, ...], Field(max_length=256)] = Field(
        default=(), description="All that stands against it; empty when it is allowed"
    )
    definition_hash: ContentHash | None = Field(
        default=None, description="The version of the definition that judged; null when none did"
    )
    record_id: UuidText | None = Field(
        default=None, description="The decision record of a denial; null for an allowed call"
    )
    approval: CallApproval | None = Field(
        default=None,
        description="The request to people about this call; always given with `ask`, and where one lifted a"
        " policy or was refused",
    )

    @model_validator(mode="after")
    def _asks_somebody(self) -> Self:
        if self.decision == "ask" and self.approval is None:
            raise PydanticCustomError("gate_ask", "decision `ask` needs the approval request")
        return self


StopStatus = Literal["complete", "incomplete", "bypassed", "unchecked"]
"""`unchecked`: the definition has no completion checker."""
StopBypass = Literal["deadline", "budget", "halt"]
"""Why the work was not checked: what is used up, or that an operator halted the session."""


class StopGateAnswer(GateAnswer):
    """The answer of the stop gate: `deny` means go on working, `message` is never set."""

    status: StopStatus = Field(description="What the work is at this moment")
    bypass: StopBypass | None = Field(
        default=None,
        description="What was used up, or `halt`; exactly with status `bypassed`",
    )
    attempt: Count = Field(
        default=0, description="How often the stop was blocked, this time included"
    )
    escalated: bool = Field(
        default=False, description="Whether a person must look: it ends incomplete"
    )
    definition_hash: ContentHash | None = Field(default=None, description="What judged it")
    record_id: UuidText | None = Field(
        default=None, description="The decision record, where there is one"
    )


class SessionAnswer(Model):
    """What every other answer about a session says."""

    request_id: Identifier = Field(description="The question")
    ok: bool = Field(description="Whether it was done")
    reason: Text = Field(description="What was done, or why not")
    remedy: Text | None = Field(default=None, description="What to do about it, when it wasn't")
    policy_id: Identifier | None = Field(
        default=None, description="The rule that stood against it, such as `lictor.unknown-session`"
    )


LookAt = Annotated[tuple[PathText, ...], Field(max_length=MAX_LOOKED_AT)]


class SessionBeginAnswer(SessionAnswer):
    """A session as it stands after it began."""

    definition: Label | None = Field(default=None, description="The definition it is pinned to")
    version: Label | None = Field(default=None, description="Its version")
    definition_hash: ContentHash | None = Field(default=None, description="Its content hash")
    deadline_at: Timestamp | None = Field(default=None, description="When its time is up")
    resource_params: dict[Label, tuple[Label, ...]] = Field(
        default_factory=dict[str, tuple[str, ...]],
        description="By tool, the parameters that name files",
    )
    mounts: tuple[PathText, ...] = Field(
        default=(), description="Other spellings of the workspace's root that tools use"
    )
    look_at: LookAt = Field(default=(), description="Files to look at before a stop")
    tell_output: bool = Field(
        default=False,
        description="Whether a provider or a label looks at what calls return: then results carry the"
        " begin of it",
    )
    stop_on_silence: Literal["block", "allow"] = Field(
        default="block", description="What no answer to a stop means"
    )


class ToolResultAnswer(SessionAnswer):
    """A result was recorded."""

    duplicate: bool = Field(default=False, description="Whether it had been reported before")
    look_at: LookAt = Field(default=(), description="Files to look at before asking for feedback")


class FeedbackAnswer(SessionAnswer):
    """What the agent should hear."""

    feedback: tuple[StampedFeedback, ...] = Field(
        default=(), description="In the definition's order"
    )
    text: OptionalText = Field(default="", description="The same, rendered for the agent")
    failures: tuple[ProviderFailure, ...] = Field(
        default=(), description="Providers that failed; the others are not harmed"
    )


class StateAnswer(SessionAnswer):
    """A state was kept, set back or reset."""

    snapshot_id: Identifier | None = Field(default=None, description="The snapshot concerned")
    state_hash: ContentHash | None = Field(
        default=None, description="Hash of the state document after it"
    )
    document: StateDocument | None = Field(default=None, description="The state, where asked for")
