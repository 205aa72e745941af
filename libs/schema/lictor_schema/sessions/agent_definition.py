"""The agent definition: one versioned document that owns an agent's constraints.

Tools, the policies that gate them, the feedback that guides the agent, and the check that its work is done stand in one
place, are reviewed together, and are named by their content. A session is pinned to the version it began with.
What a definition means is in `lictor_guard`; here stands its form.
"""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from lictor_schema.core.base_model import DecimalText, Label, Model, OptionalText, Positive
from lictor_schema.sessions.completion import AllOfSpec, AnyOfSpec, CompletionSpec
from lictor_schema.sessions.definition_names import Name
from lictor_schema.sessions.feedback import FeedbackSeverity
from lictor_schema.sessions.sequence_policy import LabelRule
from lictor_schema.sessions.session_questions import PathText
from lictor_schema.sessions.tool_policy import PluginSpec, PolicySpec, ToolSpec

_FRACTION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")

Seconds = Annotated[int, Field(ge=1, le=10 * 365 * 86_400)]
"""A length of time, up to ten years: counted from any moment, it ends at one that an entry can tell."""


def _fraction(value: object) -> object:
    """Our YAML knows whole numbers only: `0.5` is read as text there."""
    return float(value) if isinstance(value, str) and _FRACTION.fullmatch(value) else value


Period = Annotated[
    float, Field(ge=0.001, le=10 * 365 * 86_400, allow_inf_nan=False), BeforeValidator(_fraction)
]
"""The same with fractions of a second. In canonical JSON 30.0 is 30, so definitions keep their hashes."""


class TriggerSpec(Model):
    """When a provider runs: any one is enough."""

    every_n_calls: Positive | None = Field(default=None, description="Calls since it last spoke")
    every_n_seconds: Period | None = Field(
        default=None,
        description="Seconds since it last spoke, such as 30 or 0.5; at the first opportunity if it never did",
    )
    on_file_created: PathText | None = Field(
        default=None, description="Once a session, when this file is seen to exist"
    )


class DeadlineFeedbackSpec(Model):
    """Tells how much time is left."""

    kind: Literal["deadline"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The provider's name, unique in the definition")
    trigger: TriggerSpec = Field(description="When it runs")
    warn_s: Seconds = Field(default=120, description="From this many seconds left on it warns")


class StaticFeedbackSpec(Model):
    """Says the same each time."""

    kind: Literal["static"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The provider's name")
    trigger: TriggerSpec = Field(description="When it runs")
    text: Annotated[str, StringConstraints(min_length=1, max_length=4000)] = Field(
        description="What it says"
    )
    severity: FeedbackSeverity = Field(default="info", description="How urgent it is")


class LoopFeedbackSpec(Model):
    """Notices that the same call is made again and again."""

    kind: Literal["repeated-calls"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The provider's name")
    trigger: TriggerSpec = Field(description="When it looks")
    window: Annotated[int, Field(ge=2, le=32)] = Field(
        default=12, description="How many of the last calls it looks at"
    )
    repeats: Annotated[int, Field(ge=2, le=32)] = Field(
        default=3, description="How often a call must stand among them"
    )


class BudgetFeedbackSpec(Model):
    """Tells how much of the budgets is left."""

    kind: Literal["budget"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The provider's name")
    trigger: TriggerSpec = Field(description="When it runs")
    warn_percent: Annotated[int, Field(ge=1, le=100)] = Field(
        default=80, description="From this share used on it warns"
    )


class NoProgressFeedbackSpec(Model):
    """Notices that no new evidence was attached to the task for many calls."""

    kind: Literal["no-progress"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The provider's name")
    trigger: TriggerSpec = Field(description="When it looks")
    calls: Positive = Field(default=20, description="Calls without new evidence that are too many")


class PluginFeedbackSpec(PluginSpec):
    """A provider from an installed package."""

    trigger: TriggerSpec = Field(description="When it runs")


FeedbackSpec = Annotated[
    DeadlineFeedbackSpec
    | StaticFeedbackSpec
    | LoopFeedbackSpec
    | BudgetFeedbackSpec
    | NoProgressFeedbackSpec
    | PluginFeedbackSpec,
    Field(discriminator="kind"),
]


class Budgets(Model):
    """What a session may use; used up means reached."""

    calls: Positive | None = Field(default=None, description="Tool calls, denied ones included")
    input_tokens: Positive | None = Field(default=None, description="Tokens read")
    output_tokens: Positive | None = Field(default=None, description="Tokens written")
    total_tokens: Positive | None = Field(default=None, description="Both together")
    cost_usd: DecimalText | None = Field(
        default=None, description="US dollars, as text such as `2.50`; to the millionth"
    )


class SectionSpec(Model):
    """Tools that belong together, with policies of their own."""

    name: Name = Field(description="The section's name, unique in the definition")
    tools: Annotated[tuple[ToolSpec, ...], Field(min_length=1, max_length=256)] = Field(
        description="Its tools"
    )
    policies: Annotated[tuple[PolicySpec, ...], Field(max_length=64)] = Field(
        default=(), description="Gate the section's tools only; hear of every result"
    )


class Workspace(Model):
    """How tools spell the files of the workspace."""

    mounts: Annotated[tuple[PathText, ...], Field(max_length=16)] = Field(
        default=(), description="Absolute paths under which tools see the workspace's root"
    )


class DefinitionMetadata(Model):
    """Which definition it is."""

    name: Name = Field(description="Sessions ask for it by this name")
    version: Label = Field(description="Its version, for people; the hash is what counts")
    description: OptionalText = Field(default="", description="What the agent is for")


class AgentDefinition(Model):
    """Everything that constrains an agent, in one document."""

    api_version: Literal["lictor/v1"] = Field(
        validation_alias="apiVersion",
        serialization_alias="apiVersion",
        description="Version of the document format",
    )
    kind: Literal["AgentDefinition"] = Field(description="What the document is")
    metadata: DefinitionMetadata = Field(description="Which definition it is")
    workspace: Workspace = Field(
        default_factory=Workspace, description="How tools spell the files of the workspace"
    )
    tools: Annotated[tuple[ToolSpec, ...], Field(max_length=512)] = Field(
        default=(), description="Tools outside of any section"
    )
    other_tools: Literal["deny", "allow"] = Field(
        default="deny", description="What becomes of tools that are not listed"
    )
    sections: Annotated[tuple[SectionSpec, ...], Field(max_length=64)] = Field(
        default=(), description="Tools that belong together, with policies of their own"
    )
    policies: Annotated[tuple[PolicySpec, ...], Field(max_length=64)] = Field(
        default=(), description="Gate every tool"
    )
    # Definitions without labels keep the hashes that they had before there were any.
    labels: Annotated[tuple[LabelRule, ...], Field(max_length=64)] = Field(
        default=(),
        exclude_if=lambda rules: not rules,
        description="Which calls give the session a label that stays with it",
    )
    feedback: Annotated[tuple[FeedbackSpec, ...], Field(max_length=64)] = Field(
        default=(), description="What guides the agent between calls, in the order it is told"
    )
    completion: CompletionSpec | None = Field(
        default=None, description="null: the agent may stop whenever it wants"
    )
    deadline_s: Seconds | None = Field(
        default=None, description="Seconds from the session's begin until its time is up"
    )
    budgets: Budgets = Field(default_factory=Budgets, description="What a session may use")
    gate_records: Literal["required"] | None = Field(
        default=None, description="`required`: no call is allowed that is not on record first"
    )


class StoredDefinition(Model):
    """A definition as it is kept on the DEFINITIONS stream."""

    definition: AgentDefinition = Field(description="The definition itself")
    plugins: dict[Label, Label] = Field(
        default_factory=dict[str, str],
        description="By plugin, the package and version that gave it meaning",
    )
    published_by: Label = Field(description="Who published it, such as a service or an operator")


AllOfSpec.model_rebuild()
AnyOfSpec.model_rebuild()
CompletionSpec.model_rebuild()
AgentDefinition.model_rebuild()
