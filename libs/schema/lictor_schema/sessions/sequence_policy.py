"""Rules over sequences of calls: labels that a session gets, and tool policies that look at earlier calls."""

from typing import Annotated, Literal

from pydantic import Field

from lictor_schema.core.base_model import DecimalText, Label, Model
from lictor_schema.sessions.definition_names import Name, Pattern, ToolName, Tools
from lictor_schema.sessions.parameter_rule import ParameterRules

Patterns = Annotated[tuple[Pattern, ...], Field(max_length=64)]


class LabelRule(Model):
    """Which calls give the session a label. All that is given must hold; what can't be found out counts as holding."""

    label: Name = Field(description="The label")
    tools: Tools = Field(description="Calls of these tools give it")
    files: Patterns = Field(
        default=(), description="Of a file it names, one of these must match the whole key"
    )
    where: ParameterRules = Field(default=(), description="Its parameters must pass these rules")
    output: Patterns = Field(
        default=(), description="One of these must match anywhere in what it returned"
    )


class EarlierCalls(Model):
    """Calls that were made before."""

    labels: Annotated[tuple[Name, ...], Field(max_length=64)] = Field(
        default=(), description="Those that gave the session one of these labels"
    )
    tools: Annotated[tuple[ToolName, ...], Field(max_length=256)] = Field(
        default=(), description="Those of these tools"
    )
    where: ParameterRules = Field(
        default=(), description="Of those tools only calls whose parameters pass these rules"
    )


class NeverAfterSpec(Model):
    """A call that is never made after certain others, unless its parameters pass."""

    kind: Literal["never-after"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    after: EarlierCalls = Field(description="The earlier calls; one is enough")
    tools: Tools = Field(description="The tools it gates")
    unless: ParameterRules = Field(
        default=(), description="Calls whose parameters pass these rules are allowed all the same"
    )


class SuccessfulCalls(Model):
    """Calls that succeeded."""

    tools: Tools = Field(description="Calls of these tools")
    where: ParameterRules = Field(
        default=(), description="Of them only calls whose parameters surely pass these rules"
    )


WindowSeconds = Annotated[int, Field(ge=1, le=86_400 * 31)]


class OnlyAfterSpec(Model):
    """A call that is made only within some time, or some calls, after another one succeeded."""

    kind: Literal["only-after"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    tools: Tools = Field(description="The tools it gates")
    after: SuccessfulCalls = Field(description="What must have succeeded when it was last called")
    within_s: WindowSeconds | None = Field(
        default=None, description="No more than so many seconds ago"
    )
    within_calls: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="This call is one of so many that follow it"
    )
    unless: ParameterRules = Field(
        default=(), description="Calls whose parameters pass these rules are allowed all the same"
    )


class TotalSpec(Model):
    """What the amounts in a parameter may come to."""

    kind: Literal["total"] = Field(description="Tells it from the other kinds")
    name: Name = Field(description="The policy's name")
    tools: Tools = Field(description="The tools whose amounts are added up")
    param: Label = Field(description="The parameter with the amount; `a.b` for one inside another")
    limit: DecimalText = Field(
        description="The most that they may come to, such as `500` or `9.99`"
    )
    window_s: WindowSeconds | None = Field(
        default=None, description="In any window of so many seconds; null for the whole session"
    )
