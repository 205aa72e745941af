"""What changes the packs of a deployment from outside: overlays and suppression windows."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import Identifier, Label, Model, Text, Timestamp
from lictor_schema.decisions.decision import Disposition, Severity
from lictor_schema.packs.pack import AppliesTo, Mode, PackId

MAX_WINDOW = timedelta(days=30)
"""The longest suppression: what is off for longer is a change of policy, not maintenance."""


class PackChange(Model):
    """What an overlay changes about all rules of a pack; null leaves as is."""

    id: PackId = Field(description="The pack")
    enabled: bool | None = Field(default=None, description="Whether its rules are looked at")
    mode: Mode | None = Field(default=None, description="How its rules run")
    reason: Text | None = Field(default=None, description="Why; owed when this weakens the pack")
    approved_by: Label | None = Field(
        default=None, description="Who agreed; owed when this weakens the pack"
    )


class RuleChange(Model):
    """What an overlay changes about one rule; null leaves as is."""

    id: Identifier = Field(description="The rule")
    enabled: bool | None = Field(default=None, description="Whether it is looked at")
    mode: Mode | None = Field(default=None, description="How it runs")
    severity: Severity | None = Field(default=None, description="How bad it calls it")
    decision: Disposition | None = Field(default=None, description="What it decides")
    reason: Text | None = Field(default=None, description="Why; owed when this weakens the rule")
    approved_by: Label | None = Field(
        default=None, description="Who agreed; owed when this weakens the rule"
    )


class OverlayMetadata(Model):
    """The overlay as an artifact."""

    id: PackId = Field(description="Its name; also the name of its file")
    title: Label = Field(description="Its name for humans")
    summary: Text = Field(description="What it is for")
    owner: Label = Field(description="Who answers for it")


class OverlaySpec(Model):
    """The changes: first those of packs, then those of rules."""

    packs: Annotated[tuple[PackChange, ...], Field(max_length=256)] = Field(
        default=(), description="Changes of packs"
    )
    rules: Annotated[tuple[RuleChange, ...], Field(max_length=1000)] = Field(
        default=(), description="Changes of rules"
    )


class PolicyOverlay(Model):
    """A profile or environment: changes to packs, chosen by name when they are loaded."""

    api_version: Literal["lictor/v1"] = Field(
        validation_alias="apiVersion", serialization_alias="apiVersion", description="The format"
    )
    kind: Literal["PolicyOverlay"] = Field(description="What the file is")
    metadata: OverlayMetadata = Field(description="The overlay as an artifact")
    spec: OverlaySpec = Field(description="What it changes")


class WindowMetadata(Model):
    """Which window it is, and who answers for it."""

    id: PackId = Field(description="Its id; also the name of its file")
    reason: Text = Field(description="Why the rules rest")
    approved_by: Label = Field(description="Who agreed")


class WindowSpec(Model):
    """Which rules rest, when, and for which tasks."""

    starts_at: Timestamp = Field(description="From when, by the broker's clock")
    ends_at: Timestamp = Field(description="Until when, not included; at most 30 days later")
    packs: Annotated[tuple[PackId, ...], Field(max_length=256)] = Field(
        default=(), description="All rules of these packs"
    )
    rules: Annotated[tuple[Identifier, ...], Field(max_length=1000)] = Field(
        default=(), description="These rules"
    )
    applies_to: AppliesTo = Field(default=AppliesTo(), description="Only such tasks")
    task_ids: Annotated[tuple[Identifier, ...], Field(max_length=1000)] = Field(
        default=(), description="Only these tasks; empty for any"
    )

    @model_validator(mode="after")
    def _is_a_window(self) -> Self:
        if not self.packs and not self.rules:
            raise PydanticCustomError("window", "must name a pack or a rule to suppress")
        if self.ends_at <= self.starts_at:
            raise PydanticCustomError("window", "ends_at must be after starts_at")
        if self.ends_at - self.starts_at > MAX_WINDOW:
            raise PydanticCustomError(
                "window",
                "lasts more than 30 days; change the pack or an overlay instead of suppressing it",
            )
        return self


class SuppressionWindow(Model):
    """Rules that rest during approved maintenance: still recorded, not enforced."""

    api_version: Literal["lictor/v1"] = Field(
        validation_alias="apiVersion", serialization_alias="apiVersion", description="The format"
    )
    kind: Literal["SuppressionWindow"] = Field(description="What the file is")
    metadata: WindowMetadata = Field(description="Which window it is")
    spec: WindowSpec = Field(description="What rests, and when")
