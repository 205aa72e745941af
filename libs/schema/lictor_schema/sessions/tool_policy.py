"""Tools of an agent, and the policies that gate them."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from lictor_schema.core.base_model import Label, Model, Text
from lictor_schema.sessions.definition_names import ClockTime, Name, ToolName, Tools
from lictor_schema.sessions.parameter_rule import ParameterRule
from lictor_schema.sessions.sequence_policy import NeverAfterSpec, OnlyAfterSpec, TotalSpec


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


class ParameterPatternSpec(Model):
    """What the parameters of a tool may hold."""

    kind: Literal["parameters"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    tools: Tools = Field(description="The tools it gates")
    rules: Annotated[tuple[ParameterRule, ...], Field(min_length=1, max_length=64)] = Field(
        description="One rule a parameter"
    )


class RequireApprovalSpec(Model):
    """Tools that may be called only if people say so, call by call."""

    kind: Literal["require-approval"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    tools: Tools = Field(description="The tools it gates")
    unless: Annotated[tuple[ParameterRule, ...], Field(max_length=64)] = Field(
        default=(),
        description="A call that keeps all these rules needs nobody; none given: every call is asked about",
    )
    why: Text | None = Field(
        default=None, description="What to tell those who decide; null for what was found"
    )
    approvers: Annotated[tuple[Label, ...], Field(max_length=64)] = Field(
        default=(), description="People or groups of the approvers' file; empty for anybody in it"
    )
    needed: Annotated[int, Field(ge=1, le=16)] = Field(
        default=1, description="How many of them must approve"
    )
    decide_within_s: Annotated[int, Field(ge=1, le=86_400 * 30)] = Field(
        default=86_400, description="Until when they may decide; then the call is denied"
    )
    use_within_s: Annotated[int, Field(ge=1, le=86_400 * 30)] = Field(
        default=3_600, description="How long an approval may be used"
    )
    remember: Annotated[tuple[Literal["session", "rule"], ...], Field(max_length=2)] = Field(
        default=(),
        description="What an approver may decide beside this one call: the same call again in this session, a rule",
    )
    pauses_deadline: bool = Field(
        default=True, description="Whether the session's deadline stands still while people decide"
    )
    max_waiting: Annotated[int, Field(ge=1, le=256)] = Field(
        default=8, description="So many calls of one session may wait; more are denied"
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
    | RequireApprovalSpec
    | TimeWindowSpec
    | NeverAfterSpec
    | OnlyAfterSpec
    | TotalSpec
    | PluginSpec,
    Field(discriminator="kind"),
]
