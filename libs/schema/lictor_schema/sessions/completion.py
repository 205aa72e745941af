"""When an agent may stop: the checks of completion."""

from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.core.base_model import Label, Model
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.task_standing import MAX_COUNTED_ITEMS
from lictor_schema.sessions.definition_names import Name, Pattern, ToolName
from lictor_schema.sessions.session_questions import PathText
from lictor_schema.sessions.tool_policy import PluginSpec


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
