"""Decisions of the tool and stop gates, on the DECISIONS stream beside those on events."""

from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.core.base_model import (
    ContentHash,
    Identifier,
    Label,
    Model,
    Positive,
    UtcMillis,
    UuidText,
)
from lictor_schema.decisions.decision import Decision
from lictor_schema.sessions.session_questions import Denial, StopStatus


class GuardDecision(Model):
    """A denied call, a blocked stop, a bypassed check or an escalation; also a question that could not be judged."""

    record_id: UuidText = Field(
        description="The session entry's id, or one made from the question; also the message id"
    )
    recorded_at: UtcMillis = Field(description="When it was decided")
    gate: Literal["tool", "stop"] = Field(description="The gate")
    runtime: Label = Field(description="The runtime")
    task_id: Identifier = Field(description="The governed task")
    agent_id: Identifier = Field(description="The agent")
    session_id: Identifier = Field(description="The session")
    call_id: Identifier | None = Field(default=None, description="The denied call")
    tool: Label | None = Field(default=None, description="Its tool")
    decision: Decision = Field(
        description="`block` for a denial, `allow` for a bypass, `escalate` for an end as incomplete"
    )
    denials: Annotated[tuple[Denial, ...], Field(max_length=256)] = Field(
        default=(), description="Everything that stood against it"
    )
    stop_status: StopStatus | None = Field(default=None, description="What the work was at a stop")
    definition: Label | None = Field(
        default=None, description="The agent definition; null when nothing was judged by one"
    )
    definition_hash: ContentHash | None = Field(default=None, description="Its exact version")
    session_sequence: Positive | None = Field(
        default=None,
        description="Sequence of the session's entry in SESSIONS; null when the denial stands in no session's log",
    )
    entry_sha256: ContentHash | None = Field(
        default=None, description="Hash of that entry's exact bytes"
    )
