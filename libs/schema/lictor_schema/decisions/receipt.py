"""Delivery receipts: what became of a decision, and the combinations that are honest."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    Identifier,
    Label,
    Model,
    OptionalText,
    Positive,
    Text,
    Timestamp,
    UtcMillis,
    UuidText,
)
from lictor_schema.events.operator_context import EvidenceRef


class ActionName(StrEnum):
    """Everything a decision can ask a runtime or a service to do."""

    NOTIFY_OPERATOR = "notify_operator"
    EMIT_EVENT = "emit_event"
    APPEND_AUDIT_NOTE = "append_audit_note"
    REWRITE_MESSAGE = "rewrite_message"
    SET_STATUS = "set_status"
    BLOCK_TRANSITION = "block_transition"
    RECORD_PLACEHOLDER = "record_placeholder"
    REQUEST_REVIEW = "request_review"
    RAISE_ESCALATION = "raise_escalation"
    DISPATCH_MESSAGE = "dispatch_message"


class ReceiptStatus(StrEnum):
    """How enforcement stands as a whole."""

    PLANNED = "planned"
    ACKED = "acked"
    BLOCKED = "blocked"
    DEGRADED = "degraded"
    FAILED = "failed"


class DeliveryState(StrEnum):
    """How far the notice got. `dispatched` is not success; only a proven send is `acked`."""

    PREPARED = "prepared"
    QUEUED = "queued"
    DISPATCHED = "dispatched"
    PENDING_EXTERNAL_SEND = "pending_external_send"
    ACKED = "acked"
    BLOCKED = "blocked"
    FAILED = "failed"
    PARTIAL = "partial"


ALLOWED_DELIVERY_STATES: dict[ReceiptStatus, tuple[DeliveryState, ...]] = {
    ReceiptStatus.PLANNED: (
        DeliveryState.PREPARED,
        DeliveryState.QUEUED,
        DeliveryState.DISPATCHED,
        DeliveryState.PENDING_EXTERNAL_SEND,
        DeliveryState.PARTIAL,
    ),
    ReceiptStatus.ACKED: (DeliveryState.ACKED,),
    ReceiptStatus.BLOCKED: (DeliveryState.BLOCKED,),
    ReceiptStatus.DEGRADED: (
        DeliveryState.PARTIAL,
        DeliveryState.FAILED,
        DeliveryState.BLOCKED,
    ),
    ReceiptStatus.FAILED: (DeliveryState.FAILED,),
}
"""Which delivery states each receipt status may be combined with."""


class ReceiptAction(Model):
    """An action that enforcement means to perform."""

    action: ActionName = Field(description="The action")
    mandatory: bool = Field(description="Whether the decision fails without it")
    target: Label | None = Field(default=None, description="On what")


class BlockedAction(Model):
    """An action that the runtime can't perform."""

    action: ActionName = Field(description="The action")
    mandatory: bool = Field(description="Whether the decision fails without it")
    reason: Text = Field(description="Why it can't be performed")


def _conditions() -> dict[str, Any]:
    by_status = [
        {
            "if": {"properties": {"status": {"const": status.value}}},
            "then": {"properties": {"delivery_state": {"enum": [s.value for s in states]}}},
        }
        for status, states in ALLOWED_DELIVERY_STATES.items()
    ]
    partial = {
        "if": {"properties": {"delivery_state": {"const": DeliveryState.PARTIAL.value}}},
        "then": {
            "properties": {
                "blocked_actions": {"minItems": 1},
                "enforcement_intent": {"minItems": 1},
            },
            "required": ["blocked_actions", "enforcement_intent"],
        },
    }
    return {"allOf": [*by_status, partial]}


class DeliveryReceipt(Model):
    """What became of a decision, told honestly."""

    model_config = ConfigDict(json_schema_extra=_conditions())

    status: ReceiptStatus = Field(description="How enforcement stands")
    delivery_state: DeliveryState = Field(description="How far the notice got")
    enforcement_intent: Annotated[tuple[ReceiptAction, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Actions that are to be performed"
    )
    blocked_actions: Annotated[tuple[BlockedAction, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Actions that can't be performed, with the reason"
    )
    operator_notice_required: bool = Field(description="Whether the operator must be told")
    notes: Annotated[tuple[Text, ...], Field(max_length=64)] = Field(
        default=(), description="Anything else worth keeping"
    )

    @model_validator(mode="after")
    def _combination_is_honest(self) -> Self:
        if self.delivery_state not in ALLOWED_DELIVERY_STATES[self.status]:
            raise PydanticCustomError(
                "receipt_combination",
                "delivery_state {state} does not go with status {status}; use one of {allowed}",
                {
                    "state": self.delivery_state.value,
                    "status": self.status.value,
                    "allowed": ", ".join(s.value for s in ALLOWED_DELIVERY_STATES[self.status]),
                },
            )
        if self.delivery_state is DeliveryState.PARTIAL and not (
            self.blocked_actions and self.enforcement_intent
        ):
            raise PydanticCustomError(
                "receipt_partial",
                "delivery_state partial needs both blocked_actions and enforcement_intent",
            )
        return self

    @classmethod
    def prepared(
        cls,
        enforcement_intent: tuple[ReceiptAction, ...] = (),
        *,
        operator_notice_required: bool = False,
    ) -> "DeliveryReceipt":
        """The receipt of a fresh decision: planned, nothing sent yet."""
        return cls(
            status=ReceiptStatus.PLANNED,
            delivery_state=DeliveryState.PREPARED,
            enforcement_intent=enforcement_intent,
            operator_notice_required=operator_notice_required,
        )


class ReceiptReport(Model):
    """What a runtime did with a decision, in its own words; checked before it is kept."""

    report_id: Identifier = Field(
        description="Unique id of this report; the same report again is kept once"
    )
    record_id: UuidText = Field(description="The decision record it is about")
    recorded_at: UtcMillis = Field(description="That record's own time, by which it is found")
    task_id: Identifier = Field(description="The governed task")
    runtime: Label = Field(description="The reporting runtime")
    receipt: DeliveryReceipt = Field(description="What became of the decision")
    message_sent: OptionalText | None = Field(
        default=None, description="What the operator was really shown; null when nothing was"
    )
    proof: EvidenceRef | None = Field(
        default=None, description="What shows that it was sent; always given with `acked`"
    )
    reported_at: Timestamp = Field(description="When it was reported")

    @model_validator(mode="after")
    def _ack_is_proven(self) -> Self:
        if self.receipt.status is not ReceiptStatus.ACKED:
            return self
        if self.proof is None:
            raise PydanticCustomError(
                "receipt_proof", "proof must be given with status acked: what shows the send"
            )
        if self.receipt.blocked_actions:
            raise PydanticCustomError(
                "receipt_acked", "receipt.blocked_actions must be empty with status acked"
            )
        if self.receipt.operator_notice_required and not self.message_sent:
            raise PydanticCustomError(
                "receipt_message",
                "message_sent must be given with status acked when a notice was owed",
            )
        return self


class ReceiptAnswer(Model):
    """What became of a receipt report."""

    outcome: Literal["stored", "duplicate", "refused"] = Field(
        description="Kept now, kept before, or not kept"
    )
    record_id: Identifier = Field(description="The decision record, as far as it was readable")
    sequence: Positive | None = Field(
        default=None, description="Its place in the RECEIPTS stream; null when refused"
    )
    receipt: DeliveryReceipt | None = Field(
        default=None, description="The receipt that is in force now"
    )
    field: Label | None = Field(default=None, description="The field that was refused")
    reason: Text | None = Field(default=None, description="Why it was refused")
    remedy: Text | None = Field(default=None, description="What to do about it")

    @model_validator(mode="after")
    def _answer_is_complete(self) -> Self:
        refused = self.outcome == "refused"
        if refused != (self.field is not None and self.reason is not None):
            raise PydanticCustomError(
                "receipt_answer", "field and reason must be given exactly when outcome is `refused`"
            )
        if refused == (self.sequence is not None):
            raise PydanticCustomError(
                "receipt_sequence", "sequence must be given exactly when a report was kept"
            )
        return self

    @classmethod
    def refused(
        cls,
        record_id: str,
        field: str,
        reason: str,
        remedy: str,
        receipt: DeliveryReceipt | None = None,
    ) -> "ReceiptAnswer":
        """Not kept, and here is why."""
        return cls(
            outcome="refused",
            record_id=record_id,
            receipt=receipt,
            field=field,
            reason=reason,
            remedy=remedy,
        )
