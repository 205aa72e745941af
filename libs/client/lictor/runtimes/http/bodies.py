"""What an agent sends and is answered over HTTP: the questions of `tool_calls`, without who asks and when."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from lictor_schema.core.base_model import (
    ContentHash,
    Count,
    Identifier,
    Label,
    Model,
    OptionalText,
    Text,
    Timestamp,
    UuidText,
)
from lictor_schema.events.claim import Claim
from lictor_schema.sessions.session_questions import (
    MAX_LOOKED_AT,
    MAX_RESOURCES,
    CallOutcome,
    Denial,
    Params,
    Resource,
    SeenFile,
    StateDocument,
    TentativeOutput,
    Usage,
)

Resources = Annotated[tuple[Resource, ...], Field(max_length=MAX_RESOURCES)] | None
Files = Annotated[tuple[SeenFile, ...], Field(max_length=MAX_LOOKED_AT)] | None
_RESOURCES = (
    "The files that the parameters name, as the client saw them; not where the server looks itself"
)
_FILES = "The files that were to be looked at; not where the server looks itself"


class BeginBody(Model):
    """A session begins, or goes on."""

    definition: Label | None = Field(default=None, description="The agent definition")
    definition_hash: ContentHash | None = Field(default=None, description="Exactly this version")
    task_id: Identifier | None = Field(default=None, description="The task; else the session's id")
    agent_id: Identifier | None = Field(default=None, description="The agent; else the runtime")
    deadline_at: Timestamp | None = Field(default=None, description="An earlier deadline")
    prompted: bool = Field(default=False, description="Whether somebody has just given it new work")


class CheckBody(Model):
    """May this tool be called?"""

    call_id: Identifier = Field(description="Unique id of the call within its session")
    tool: Label = Field(description="The tool")
    params: Params = Field(description="Its parameters")
    resources: Resources = Field(default=None, description=_RESOURCES)


class ResultBody(CheckBody):
    """A call has ended."""

    outcome: CallOutcome = Field(description="How it ended")
    error: OptionalText | None = Field(default=None, description="What went wrong, in short")
    duration_ms: Count | None = Field(default=None, description="How long it ran")
    output_sha256: ContentHash | None = Field(default=None, description="Hash of its output")
    output: JsonValue | None = Field(
        default=None,
        description="What it returned: providers see the begin of it, where `tell_output` asks for it",
    )
    usage: Usage | None = Field(default=None, description="What was used since the last report")


class FeedbackBody(Model):
    """What should the agent hear now?"""

    call_id: Identifier = Field(description="The call that has just ended, or any unique id")
    files: Files = Field(default=None, description=_FILES)
    output: TentativeOutput | None = Field(
        default=None,
        description="What the agent hands over as its output: it hears what its completion lacks",
    )


class StopBody(Model):
    """May the agent stop?"""

    reason: Text = Field(default="the agent says that it is done", description="Why it wants to")
    final_message: OptionalText | None = Field(default=None, description="Its last words")
    tentative_output: JsonValue | None = Field(default=None, description="What it hands over")
    claim: Claim | None = Field(default=None, description="What it claims, if anything")
    files: Files = Field(default=None, description=_FILES)
    subagent: bool = Field(default=False, description="Whether a subagent of the session stops")
    request_id: Identifier | None = Field(
        default=None,
        description="Unique id of the question: asked again with it, and no call in between, it counts once",
    )


class UsageBody(Model):
    """Tokens or money were used."""

    report_id: Identifier = Field(description="A second report with this id counts for nothing")
    usage: Usage = Field(description="What was used since the last report")


class SnapshotBody(Model):
    """Keep the session's state under a name."""

    snapshot_id: Identifier = Field(description="The name")
    with_document: bool = Field(default=False, description="Whether to return the state itself")


class RestoreBody(Model):
    """Set the session's state back: to a snapshot, or to a document."""

    snapshot_id: Identifier | None = Field(default=None, description="The snapshot")
    document: StateDocument | None = Field(default=None, description="The state itself")
    cause: Text = Field(description="Why")


class ResetBody(Model):
    """Forget what the session's policies and providers know."""

    cause: Text = Field(description="Why")


class CancelBody(Model):
    """The agent does not want to make a call any more that waits for a person."""

    approval_request: UuidText = Field(description="The request")
    why: Text = Field(description="Why")


class SessionReply(Model):
    """A session as the service knows it."""

    ok: bool = Field(description="Whether it began")
    text: str = Field(description="What was done, or why not and what would help")
    definition: str | None = Field(default=None, description="The definition it is pinned to")
    version: str | None = Field(default=None, description="Its version")
    definition_hash: str | None = Field(default=None, description="Its content hash")
    deadline_at: str | None = Field(default=None, description="When its time is up")
    resource_params: dict[str, tuple[str, ...]] = Field(
        default_factory=dict[str, tuple[str, ...]],
        description="By tool, the parameters that name files",
    )
    mounts: tuple[str, ...] = Field(default=(), description="Other spellings of the root")
    look_at: tuple[str, ...] = Field(default=(), description="Files to look at before a stop")
    tell_output: bool = Field(default=False, description="Whether results are to carry `output`")


class CallRequest(Model):
    """The request to people about a call."""

    request_id: str = Field(description="Its id")
    standing: str = Field(
        description="`waiting`, `approved`, `rejected`, `expired`, `cancelled`, `stale` or `edited`"
    )
    expires_at: str = Field(description="Until when somebody may decide, or it may be used")
    guidance: str | None = Field(default=None, description="What whoever decided tells the agent")
    decided_by: tuple[str, ...] = Field(default=(), description="Who has decided so far")
    params: dict[str, Any] | None = Field(
        default=None, description="The parameters to call with instead, in standing `edited`"
    )


class CheckReply(Model):
    """Whether the tool may be called; only `allow` allows it."""

    decision: Literal["allow", "deny"] = Field(description="The verdict")
    text: str = Field(description="For the agent: every reason against it, with its remedy")
    denials: tuple[Denial, ...] = Field(default=(), description="The same as data")
    advice: str = Field(
        default="", description="For the agent too: what it should hear beside a denial"
    )
    definition_hash: str | None = Field(default=None, description="What judged it")
    record_id: str | None = Field(default=None, description="The decision record of a denial")
    asked: bool = Field(
        default=False,
        description="Whether a person decides: not allowed yet, and no denial; ask again with the same call",
    )
    approval: CallRequest | None = Field(
        default=None, description="The request to people about this call, where there is one"
    )


class ApprovalReply(Model):
    """How a request to people stands; nothing is allowed by it: ask `check` again with the same call."""

    ok: Literal[True] = Field(default=True, description="That it is known")
    text: str = Field(description="How it stands, in words")
    request_id: str = Field(description="The request")
    state: str = Field(description="Its state, such as `requested`, `approved` or `rejected`")
    waiting: bool = Field(description="Whether people are still to decide")
    expires_at: str = Field(description="Until when somebody may decide")


class ReportReply(Model):
    """Whether a report was taken; one that was not is to be sent again."""

    ok: bool = Field(description="Whether it counts")
    text: str = Field(description="What was done, or why not and what would help")
    duplicate: bool = Field(default=False, description="Whether it had been reported before")
    look_at: tuple[str, ...] = Field(
        default=(), description="Files to look at before asking for feedback"
    )


class FeedbackReply(Model):
    """What the agent should hear."""

    ok: bool = Field(description="Whether anybody answered")
    text: str = Field(description="For the agent; empty when there is nothing")
    feedback: tuple[dict[str, Any], ...] = Field(default=(), description="The same as data")
    failures: tuple[dict[str, Any], ...] = Field(default=(), description="Providers that failed")


class StopReply(Model):
    """Whether the agent may stop; only `allow` lets it."""

    decision: Literal["allow", "deny"] = Field(description="The verdict")
    status: str = Field(
        description="`complete`, `incomplete`, `bypassed`, `unchecked`, or `unanswered`"
    )
    text: str = Field(description="For the agent: what is left to do")
    policy_id: str = Field(description="Who judged")
    bypass: str | None = Field(default=None, description="What was used up")
    attempt: int = Field(default=0, description="How often the stop was blocked")
    escalated: bool = Field(default=False, description="Whether a person must look")
    definition_hash: str | None = Field(default=None, description="What judged it")
    record_id: str | None = Field(default=None, description="The decision record")


class StateReply(Model):
    """Whether a state was kept, set back or reset."""

    ok: bool = Field(description="Whether it was done")
    text: str = Field(description="What was done, or why not and what would help")
    snapshot_id: str | None = Field(default=None, description="The snapshot concerned")
    state_hash: str | None = Field(default=None, description="Hash of the state after it")
    document: dict[str, Any] | None = Field(default=None, description="The state itself")


class Refusal(Model):
    """A question that could not be answered, whatever it was: nothing is allowed by it."""

    decision: Literal["deny"] = Field(default="deny", description="Nothing is allowed")
    ok: Literal[False] = Field(default=False, description="Nothing was done")
    policy_id: str = Field(description="Why, as a name")
    text: str = Field(description="Why, and what would help")


Reply = (
    SessionReply
    | CheckReply
    | ApprovalReply
    | ReportReply
    | FeedbackReply
    | StopReply
    | StateReply
    | Refusal
)
