"""Adapter capabilities: what a runtime can really do about a decision, said by whoever deploys it."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lictor_schema.core.base_model import Identifier, Label, Model, Text
from lictor_schema.decisions.receipt import ActionName, DeliveryState

_Notes = Annotated[tuple[Text, ...], Field(max_length=64)]
_Tags = Annotated[tuple[Label, ...], Field(max_length=64)]


class CapabilityLevel(StrEnum):
    """How far a capability goes."""

    NONE = "none"
    PARTIAL = "partial"
    FULL = "full"


class Capability(Model):
    """One thing a runtime can or can't do; left out, it can't."""

    supported: bool = Field(default=False, description="Whether it can be done at all")
    level: CapabilityLevel = Field(default=CapabilityLevel.NONE, description="How far it goes")
    notes: _Notes = Field(default=(), description="What limits it")

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.supported != (self.level is not CapabilityLevel.NONE):
            raise PydanticCustomError(
                "capability",
                "must not contradict itself: supported true goes with level partial or full,"
                " supported false with level none",
            )
        return self


def _unless_said(description: str) -> Any:
    """A capability that the runtime doesn't have unless the descriptor says so."""
    return Field(default=Capability(), description=description)


class ObservationCapabilities(Model):
    """What the runtime sees of its own work."""

    task_lifecycle: Capability = _unless_said("Start, status and end of a task")
    subagent_lifecycle: Capability = _unless_said("Dispatch, failure and result of a child")
    checkpoint_obligations: Capability = _unless_said("When a report is owed")
    outgoing_report_attempts: Capability = _unless_said("Reports before they are shown")
    watchdog_state: Capability = _unless_said("What its own watchdog knows")


class NormalizationCapabilities(Model):
    """What it makes of what it sees."""

    canonical_events: Capability = _unless_said("Turning what it sees into canonical events")


class WatchdogCapabilities(Model):
    """Whether it watches deadlines by itself."""

    watchdog_evaluation: Capability = _unless_said("Finding overdue obligations by itself")


class EnforcementCapabilities(Model):
    """What it can do about a decision; each action of a decision needs one of these, or none."""

    block_transition: Capability = _unless_said("Holding back a dispatch or a change of status")
    force_checkpoint: Capability = _unless_said("Making a report to the operator happen")
    rewrite_message: Capability = _unless_said("Showing another text than the agent's")
    annotate_placeholder: Capability = _unless_said("Marking a text as a placeholder")
    request_review: Capability = _unless_said("Asking the operator to look")
    downgrade_status: Capability = _unless_said("Setting another status than the agent's")
    escalate: Capability = _unless_said("Raising an alarm")


class TruthModel(Model):
    """Which delivery states the runtime can tell apart."""

    delivery_states: Annotated[tuple[DeliveryState, ...], Field(min_length=1, max_length=8)] = (
        Field(default=tuple(DeliveryState), description="The states it may report")
    )
    ack_requires_proven_send: Literal[True] = Field(
        default=True, description="Always true: nothing is acknowledged without proof"
    )
    pending_external_send_supported: bool = Field(
        default=True, description="Whether it can leave the sending to something outside"
    )


class NotificationPathCapabilities(Model):
    """How a notice gets from the runtime to the operator."""

    queue_items: Capability = _unless_said("Queueing notices")
    spool_handoff: Capability = _unless_said("Handing notices to a sender outside")
    receipts: Capability = _unless_said("Telling what became of a notice")
    sender_binding: Capability = _unless_said("Being bound to a sender")
    direct_send: Capability = _unless_said("Sending by itself")
    final_delivery_proof: Capability = _unless_said(
        "Proving that a notice arrived; without it nothing can be `acked`"
    )
    truth_model: TruthModel = Field(
        default=TruthModel(), description="Which delivery states it can tell apart"
    )


class CapabilityGroups(Model):
    """Everything a runtime can do; what is left out it can't."""

    observation: ObservationCapabilities = Field(
        default=ObservationCapabilities(), description="What it sees"
    )
    normalization: NormalizationCapabilities = Field(
        default=NormalizationCapabilities(), description="What it makes of it"
    )
    watchdog: WatchdogCapabilities = Field(
        default=WatchdogCapabilities(), description="Whether it watches deadlines"
    )
    enforcement: EnforcementCapabilities = Field(
        default=EnforcementCapabilities(), description="What it can do about a decision"
    )
    notification_path: NotificationPathCapabilities = Field(
        default=NotificationPathCapabilities(), description="How notices reach the operator"
    )


class CapabilitiesMetadata(Model):
    """The descriptor as a versioned artifact."""

    id: Identifier = Field(description="Id of the descriptor")
    title: Label = Field(description="Its name for people")
    version: Label = Field(description="Its version")
    owner: Label | None = Field(default=None, description="Who answers for it")
    summary: Text | None = Field(default=None, description="What it describes, in a line")
    tags: _Tags = Field(default=(), description="Words to find it by")


_Surface = Literal[
    "hook",
    "watchdog",
    "queue",
    "bridge",
    "sender_binding",
    "orchestrator",
    "dispatcher",
    "scheduler",
    "storage",
]


class AdapterRuntime(Model):
    """The runtime it describes."""

    name: Label = Field(description="As events spell it in `runtime`; also the file's name")
    mode: Literal[
        "hook", "watchdog", "queue", "bridge", "sender_binding", "orchestrator", "hybrid"
    ] = Field(description="How Lictor is built into it")
    surfaces: Annotated[tuple[_Surface, ...], Field(max_length=16)] = Field(
        default=(), description="Every place where they meet"
    )
    entrypoint: Text | None = Field(default=None, description="What is started, for people")


class Compatibility(Model):
    """Which canonical schemas the adapter was built for, by their ids."""

    event_schema: Literal["urn:lictor:schema:event:v1"] = Field(description="Its events")
    decision_schema: Literal["urn:lictor:schema:decision:v1"] = Field(
        description="The decisions it understands"
    )
    evidence_schema: Literal["urn:lictor:schema:evidence-item:v1"] | None = Field(
        default=None, description="Its evidence"
    )
    capabilities_schema: Literal["urn:lictor:schema:adapter-capabilities:v1"] | None = Field(
        default=None, description="This document"
    )


class AdapterCapabilities(Model):
    """A capability descriptor, `runtimes/<runtime>.yaml` beside the packs."""

    api_version: Literal["reporting-governance/v1alpha1", "lictor/v1"] = Field(
        validation_alias="apiVersion",
        serialization_alias="apiVersion",
        description="Version of the format",
    )
    kind: Literal["AdapterCapabilities"] = Field(description="What the document is")
    metadata: CapabilitiesMetadata = Field(description="The descriptor itself")
    runtime: AdapterRuntime = Field(description="The runtime it describes")
    compatibility: Compatibility = Field(description="What the adapter was built for")
    capabilities: CapabilityGroups = Field(description="What the runtime can do")
    notes: _Notes = Field(default=(), description="Anything else worth knowing")


_NEEDS: dict[ActionName, str | None] = {
    ActionName.REWRITE_MESSAGE: "rewrite_message",
    ActionName.RECORD_PLACEHOLDER: "annotate_placeholder",
    ActionName.SET_STATUS: "downgrade_status",
    ActionName.REQUEST_REVIEW: "request_review",
    ActionName.RAISE_ESCALATION: "escalate",
    ActionName.BLOCK_TRANSITION: "block_transition",
    ActionName.NOTIFY_OPERATOR: "force_checkpoint",
    ActionName.DISPATCH_MESSAGE: "force_checkpoint",
    ActionName.EMIT_EVENT: None,
    ActionName.APPEND_AUDIT_NOTE: None,
}


def capability_needed(action: ActionName) -> str | None:
    """The enforcement capability an action needs; None when any runtime can do it."""
    return _NEEDS[action]
