"""Where work happens and where its reports go: references, operator context, report anchors."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from lictor_schema.core.base_model import Identifier, Label, Model, Text, Timestamp

Sha256Hex = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class EvidenceRef(Model):
    """A pointer to something that can be inspected."""

    kind: Label = Field(description="What is pointed at, such as `file`, `log`, `url`, `event`")
    ref: Annotated[str, StringConstraints(min_length=1, max_length=4096)] = Field(
        description="Where it is: a path, address or id"
    )
    label: Label | None = Field(default=None, description="A name for readers")
    sha256: Sha256Hex | None = Field(default=None, description="Hex SHA-256 of the content")
    mime_type: Label | None = Field(default=None, description="Media type of the content")


class OperatorContext(Model):
    """Who watches the work and through which channel; every part may be unknown."""

    operator_id: Identifier | None = Field(default=None, description="The human or team in charge")
    channel: Label | None = Field(default=None, description="Reporting channel, such as `telegram`")
    session_id: Identifier | None = Field(default=None, description="The session of the operator")
    thread_ref: Identifier | None = Field(default=None, description="Conversation or thread")
    locale: Label | None = Field(default=None, description="Language tag for operator messages")


class ReportAnchor(Model):
    """The place and person a task's reports are owed to, fixed before work is dispatched."""

    channel: Label = Field(description="Channel the reports go to")
    target: Identifier = Field(description="Conversation, thread or address in that channel")
    owner: Identifier | None = Field(default=None, description="Agent that owes the reports")
    message_ref: Identifier | None = Field(
        default=None, description="Message that the reports answer"
    )
    established_at: Timestamp | None = Field(default=None, description="When it was fixed")


class ExternalizedPath(Model):
    """How a silent task will be heard of without anyone remembering to ask."""

    first_forced_checkpoint_trigger: Text = Field(
        description="Time, stage or event that forces the first checkpoint"
    )
    if_unfinished_report: Text = Field(description="What is reported when the task isn't done then")
    if_no_new_evidence: Literal["paused", "blocked"] = Field(
        description="The status the task falls to without new evidence"
    )
    externalized_trigger: Text = Field(
        description="The trigger outside the agent, such as a scheduled reminder"
    )
    final_handoff_path: Text = Field(description="How the result reaches its owner")
