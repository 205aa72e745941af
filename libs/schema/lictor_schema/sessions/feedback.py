"""Feedback: advice to an agent between its tool calls, structured; how it is shown is
`lictor_guard.feedback.rendering`.
"""

from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.core.base_model import (
    Count,
    Label,
    Model,
    OptionalText,
    Text,
    UtcMillis,
    UuidText,
)

FeedbackSeverity = Literal["info", "caution", "warning"]
TriggerKind = Literal["calls", "seconds", "file", "output"]
"""`output`: the agent handed over its output, and the completion checker says what is missing."""


class Observation(Model):
    """Something a provider noticed."""

    category: Label = Field(description="What kind of thing")
    description: Text = Field(description="What it is")
    evidence: OptionalText | None = Field(default=None, description="What shows it")


class Feedback(Model):
    """One provider's advice."""

    provider: Label = Field(description="The provider's name in the definition")
    summary: Text = Field(description="The message")
    observations: Annotated[tuple[Observation, ...], Field(max_length=32)] = Field(
        default=(), description="What it is based on"
    )
    suggestions: Annotated[tuple[Text, ...], Field(max_length=32)] = Field(
        default=(), description="What the agent could do"
    )
    severity: FeedbackSeverity = Field(default="info", description="How urgent it is")


class StampedFeedback(Feedback):
    """Advice with where and when it was raised."""

    feedback_id: UuidText = Field(description="Id of this one; also the message id on GUIDANCE")
    raised_at: UtcMillis = Field(description="When")
    call_index: Count = Field(description="Calls of the session so far")
    trigger: TriggerKind = Field(description="What made the provider run")
    definition: Label = Field(description="The agent definition")


class ProviderFailure(Model):
    """A provider that raised instead of advising."""

    provider: Label = Field(description="The provider")
    error: Text = Field(description="What it raised")
