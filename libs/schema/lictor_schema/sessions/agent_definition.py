"""The agent definition: one versioned document that owns an agent's constraints.

Tools, the policies that gate them, the feedback that guides the agent, and the check that its work is done stand in one
place, are reviewed together, and are named by their content. A session is pinned to the version it began with.
What a definition means is in `lictor_guard`; here stands its form.
"""

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints

from lictor_schema.core.base_model import (
    PATTERN_MEANINGS,
    DecimalText,
    Label,
    Model,
    OptionalText,
    Positive,
    Text,
)
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.task_standing import MAX_COUNTED_ITEMS
from lictor_schema.sessions.feedback import FeedbackSeverity
from lictor_schema.sessions.session_questions import PathText

_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$"
_TOOL = r"^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,254}\*?$"
_FRACTION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
_CLOCK_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
PATTERN_MEANINGS.update(
    {
        _NAME: "must be 1 to 128 of letters, digits and _.:- and begin with a letter, digit or _",
        _TOOL: "must be the name of a tool: letters, digits and _./:- with at most a * at its end",
        _CLOCK_TIME: "must be a time of day from 00:00 to 23:59",
    }
)

Name = Annotated[str, StringConstraints(pattern=_NAME)]
"""The name of a definition, or of a part of one."""
ToolName = Annotated[str, StringConstraints(pattern=_TOOL)]
"""A tool as the runtime calls it; with `*` at its end every tool that begins so."""
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
"""A regular expression of the linear-time kind (no back-references, no look-around)."""
ClockTime = Annotated[str, StringConstraints(pattern=_CLOCK_TIME)]
Seconds = Annotated[int, Field(ge=1, le=10 * 365 * 86_400)]
"""A length of time, up to ten years: counted from any moment, it ends at one that an entry can tell."""


def _fraction(value: object) -> object:
    """Our YAML knows whole numbers only: `0.5` is read as text there."""
    return float(value) if isinstance(value, str) and _FRACTION.fullmatch(value) else value


Period = Annotated[
    float, Field(ge=0.001, le=10 * 365 * 86_400, allow_inf_nan=False), BeforeValidator(_fraction)
]
"""The same with fractions of a second. In canonical JSON 30.0 is 30, so definitions keep their hashes."""
Tools = Annotated[tuple[ToolName, ...], Field(min_length=1, max_length=256)]


class ToolSpec(Model):
    """A tool that the agent may be given."""

    name: ToolName = Field(description="As the runtime calls it; may end with `*`")
    access: Literal["read", "write", "none"] = Field(
        default="none", description="What a call does to the files it names"
    )
    resources: Annotated[tuple[Label, ...], Field(max_length=16)] = Field(
        default=(), description="The parameters that name files; needed unless access is `none`"
    )


class SequentialDependencySpec(Model):
    """A tool needs others to have succeeded first."""

    kind: Literal["sequential-dependency"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name, unique in the definition")
    requires: Annotated[dict[ToolName, Tools], Field(min_length=1, max_length=256)] = Field(
        description="By tool, those that must have succeeded"
    )
    invalidated_by: Annotated[dict[ToolName, Tools], Field(max_length=256)] = Field(
        default_factory=dict[str, tuple[str, ...]],
        description="By required tool, those whose success makes it stale (an `edit` after a `test`)",
    )


class ReadBeforeWriteSpec(Model):
    """A file that exists must have been read, in the version that is there, before it is written."""

    kind: Literal["read-before-write"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")


class RateLimitSpec(Model):
    """No more than so many calls in a window of time."""

    kind: Literal["rate-limit"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    tools: Tools = Field(description="The tools that are counted together")
    limit: Annotated[int, Field(ge=1, le=10_000)] = Field(description="Calls allowed in the window")
    window_s: Annotated[int, Field(ge=1, le=86_400 * 31)] = Field(description="Its length")


class ParameterRule(Model):
    """What one parameter may hold. Text is matched as it is, other values as JSON, files by their keys."""

    param: Label = Field(description="The parameter; `a.b` for one inside another")
    allow: Annotated[tuple[Pattern, ...], Field(max_length=64)] = Field(
        default=(), description="One of these must match the whole value; none given: anything"
    )
    deny: Annotated[tuple[Pattern, ...], Field(max_length=64)] = Field(
        default=(), description="None of these may match anywhere in it"
    )
    required: bool = Field(default=False, description="Whether a call without it is denied")
    remedy: Text | None = Field(default=None, description="What to tell the agent")


class ParameterPatternSpec(Model):
    """What the parameters of a tool may hold."""

    kind: Literal["parameters"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    tools: Tools = Field(description="The tools it gates")
    rules: Annotated[tuple[ParameterRule, ...], Field(min_length=1, max_length=64)] = Field(
        description="One rule a parameter"
    )


Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class TimeWindowSpec(Model):
    """Tools that may be called only at certain times."""

    kind: Literal["time-window"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    tools: Tools = Field(description="The tools it gates")
    days: Annotated[tuple[Weekday, ...], Field(min_length=1, max_length=7)] = Field(
        default=("mon", "tue", "wed", "thu", "fri", "sat", "sun"), description="On these days"
    )
    begins: ClockTime = Field(description="From this time on")
    ends: ClockTime = Field(
        description="Until before this time; earlier than `begins`: past midnight"
    )
    timezone: Label = Field(default="UTC", description="An IANA time zone")


class PluginSpec(Model):
    """A policy, provider or checker from an installed package."""

    kind: Literal["plugin"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="Its name in the definition")
    plugin: Label = Field(description="Name of the entry point")
    settings: Annotated[dict[Label, JsonValue], Field(max_length=64)] = Field(
        default_factory=dict[str, JsonValue], description="Handed to it as they stand"
    )


PolicySpec = Annotated[
    SequentialDependencySpec
    | ReadBeforeWriteSpec
    | RateLimitSpec
    | ParameterPatternSpec
    | TimeWindowSpec
    | PluginSpec,
    Field(discriminator="kind"),
]


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


class FileOutputSpec(Model):
    """Certain files must be there."""

    kind: Literal["files"] = Field(description="Tells it from the other kinds")
    files: Annotated[tuple[PathText, ...], Field(max_length=256)] = Field(
        description="Paths, relative to the workspace; true files, not directories"
    )
    allow_empty: bool = Field(default=False, description="Whether an empty file will do")


class VerificationSpec(Model):
    """A check must have passed, and nothing may have changed since."""

    kind: Literal["verification"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The checker's name, unique among the definition's checkers")
    tool: ToolName = Field(description="The tool that checks, such as `test` or `Bash`")
    param: Label | None = Field(
        default=None, description="The parameter that tells a check from other calls of the tool"
    )
    matches: Pattern | None = Field(
        default=None, description="What it must match, such as a test command"
    )
    stale_after: Annotated[tuple[ToolName, ...], Field(max_length=256)] = Field(
        default=(), description="Tools whose success after the check makes it stale"
    )


class EvidenceSpec(Model):
    """The task must have evidence of a quality."""

    kind: Literal["evidence"] = Field(description="Tells it from the other kinds")
    quality: Quality = Field(description="At least this")
    count: Annotated[int, Field(ge=1, le=MAX_COUNTED_ITEMS)] = Field(
        default=1, description="So many items of at least that quality"
    )


class AllOfSpec(Model):
    """Every one must be complete; an empty one is complete."""

    kind: Literal["all-of"] = Field(description="Tells it from the other kinds")
    checkers: Annotated[tuple["CheckerSpec", ...], Field(max_length=32)] = Field(
        description="Asked in this order, until it is clear"
    )


class AnyOfSpec(Model):
    """One must be complete; an empty one is incomplete."""

    kind: Literal["any-of"] = Field(description="Tells it from the other kinds")
    checkers: Annotated[tuple["CheckerSpec", ...], Field(max_length=32)] = Field(
        description="Asked in this order, until it is clear"
    )


CheckerSpec = Annotated[
    FileOutputSpec | VerificationSpec | EvidenceSpec | AllOfSpec | AnyOfSpec | PluginSpec,
    Field(discriminator="kind"),
]


class CompletionSpec(Model):
    """When the agent may stop."""

    checker: CheckerSpec = Field(description="What must hold")
    max_blocks: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="After so many blocked stops the session ends as incomplete"
    )
    on_silence: Literal["block", "allow"] = Field(
        default="block", description="What an adapter does when the stop gate does not answer"
    )
    subagents: bool = Field(default=False, description="Whether stops of subagents are checked too")


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
