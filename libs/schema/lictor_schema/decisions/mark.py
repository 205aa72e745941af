"""Marks on decisions: an operator says that one was a false alarm, or takes that back."""

from typing import Literal

from pydantic import Field

from lictor_schema.core.base_model import (
    Identifier,
    Label,
    Model,
    Text,
    Timestamp,
    UtcMillis,
    UuidText,
)
from lictor_schema.decisions.decision import Disposition

MarkKind = Literal["false_alarm", "withdrawn"]


class MarkOrder(Model):
    """An operator marks a decision."""

    request_id: UuidText = Field(description="Unique id; asking again with it changes nothing")
    record_id: UuidText = Field(description="The decision record")
    recorded_at: UtcMillis = Field(description="That record's own time, by which it is found")
    task_id: Identifier = Field(description="The governed task")
    mark: MarkKind = Field(description="A false alarm, or the mark before taken back")
    by: Identifier = Field(description="Who says so")
    reason: Text = Field(description="Why")


class DecisionMark(Model):
    """A mark as it is kept; the last one on a decision counts."""

    entry_id: UuidText = Field(description="Id of this entry; also the message id")
    request_id: UuidText = Field(description="The order")
    record_id: UuidText = Field(description="The decision record")
    task_id: Identifier = Field(description="The governed task")
    decision: Disposition = Field(description="What was decided")
    pack_id: Identifier = Field(description="The pack of the rule that decided")
    pack_version: Label = Field(description="Its version")
    rule_id: Identifier = Field(description="The rule that decided")
    mark: MarkKind = Field(description="A false alarm, or the mark before taken back")
    by: Identifier = Field(description="Who says so")
    reason: Text = Field(description="Why")
    marked_at: Timestamp = Field(description="When it was kept")
