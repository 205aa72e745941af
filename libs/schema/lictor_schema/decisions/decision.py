"""Decisions: what governance concluded about an event, what must happen, and what did."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from lictor_schema.core.base_model import (
    MAX_ITEMS,
    NOTICE_DEADLINE,
    ContentHash,
    Count,
    Details,
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
from lictor_schema.core.ranked_text import RankedText
from lictor_schema.decisions.receipt import ActionName, DeliveryReceipt
from lictor_schema.events.claim import TaskStatus
from lictor_schema.events.event_types import EventType
from lictor_schema.events.evidence import EvidenceClass, Quality

NO_RULE_MATCHED = "lictor.no-rule-matched"
"""The policy id of an `allow` that no rule produced."""

REPEATED_MATCH = "lictor.repeated-match"
"""The policy id of an escalation because one rule matched again and again in a task."""


class Disposition(StrEnum):
    """The eight decisions. `precedence` orders them: the highest wins a conflict."""

    precedence: int

    def __new__(cls, value: str, precedence: int) -> "Disposition":
        member = str.__new__(cls, value)
        member._value_ = value
        member.precedence = precedence
        return member

    ALLOW = "allow", 0
    REWRITE = "rewrite", 2
    BLOCK = "block", 6
    REQUIRE_REVIEW = "require_review", 3
    FORCE_CHECKPOINT = "force_checkpoint", 5
    ESCALATE = "escalate", 7
    DOWNGRADE_STATUS = "downgrade_status", 4
    ANNOTATE_PLACEHOLDER = "annotate_placeholder", 1


class Severity(RankedText):
    """How bad it is: info < low < medium < high < critical."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class SuggestedStatus(StrEnum):
    """The status a decision recommends; every value is also a TaskStatus."""

    IN_PROGRESS = "in_progress"
    PENDING_VERIFICATION = "pending_verification"
    BLOCKED = "blocked"
    FAILED = "failed"
    AWAITING_REVIEW = "awaiting_review"
    COMPLETED = "completed"


class RequiredAction(Model):
    """One thing that must be done about a decision."""

    action: ActionName = Field(description="What to do")
    target: Label = Field(description="On what, such as `operator_channel` or `outgoing_report`")
    mandatory: bool = Field(description="Whether the decision fails without it")
    details: Details = Field(
        default_factory=dict[str, str | bool | int | None], description="Parameters of the action"
    )


NoticeDeadline = Annotated[str, StringConstraints(pattern=NOTICE_DEADLINE)]


class OperatorNotice(Model):
    """What the operator must be told."""

    required: bool = Field(description="Whether the notice is owed")
    channel: Label = Field(description="Where it is owed")
    urgency: Severity = Field(description="How urgent it is")
    message: OptionalText | None = Field(default=None, description="The notice's text")
    must_reference: Annotated[tuple[Label, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Event types or artifacts the text must name"
    )
    deadline: NoticeDeadline | None = Field(
        default=None, description="`immediate`, or an RFC 3339 time; null for none"
    )


class Decision(Model):
    """The canonical decision; all eight fields are required."""

    decision: Disposition = Field(description="The disposition")
    policy_id: Identifier = Field(description="Id of the rule that produced it")
    severity: Severity = Field(description="How bad it is")
    reason: Text = Field(description="Why, for humans")
    rewritten_message: OptionalText | None = Field(
        description="Text to send instead of the original; null when it stands"
    )
    suggested_status: SuggestedStatus | None = Field(
        description="Status the task should take; null for no change"
    )
    required_actions: Annotated[tuple[RequiredAction, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="What must be done, in order"
    )
    operator_notice: OperatorNotice | None = Field(description="What the operator must be told")

    @classmethod
    def allow(
        cls, policy_id: str = NO_RULE_MATCHED, reason: str = "no rule matched this event"
    ) -> "Decision":
        """Nothing stands against it."""
        return cls(
            decision=Disposition.ALLOW,
            policy_id=policy_id,
            severity=Severity.INFO,
            reason=reason,
            rewritten_message=None,
            suggested_status=None,
            required_actions=(),
            operator_notice=None,
        )

    @classmethod
    def block(
        cls, policy_id: str, reason: str, *, severity: Severity = Severity.HIGH
    ) -> "Decision":
        """It must not happen."""
        return cls(
            decision=Disposition.BLOCK,
            policy_id=policy_id,
            severity=severity,
            reason=reason,
            rewritten_message=None,
            suggested_status=SuggestedStatus.BLOCKED,
            required_actions=(),
            operator_notice=None,
        )


class MatchedRule(Model):
    """A rule that fired, whether or not its decision won."""

    pack_id: Identifier = Field(description="The pack")
    pack_version: Label = Field(description="The pack's version")
    pack_hash: ContentHash = Field(description="Content hash of the pack")
    rule_id: Identifier = Field(description="The rule")
    decision: Disposition = Field(description="What it decided")
    severity: Severity = Field(description="How bad it called it")
    reason: Text = Field(description="Why it fired")


class SuppressedRule(MatchedRule):
    """A rule that would have counted, had a suppression window not let it rest."""

    window_id: Identifier = Field(description="The window")


class AttachedEvidence(Model):
    """An evidence item the decision looked at, in short."""

    evidence_id: Identifier = Field(description="The item")
    evidence_class: EvidenceClass = Field(
        validation_alias="class", serialization_alias="class", description="Its class"
    )
    quality: Quality = Field(description="Its quality")


class EvidenceSummary(Model):
    """The evidence at the moment of the decision."""

    attached: Annotated[tuple[AttachedEvidence, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Items the decision looked at"
    )
    best_quality: Quality = Field(
        default=Quality.NONE, description="The strongest quality attached to the task"
    )
    new_since_last_checkpoint: Count = Field(
        default=0, description="Items added since the last checkpoint"
    )
    missing: Annotated[tuple[Text, ...], Field(max_length=64)] = Field(
        default=(), description="What a rule asked for and did not find"
    )


class PackStamp(Model):
    """A policy pack by name, version and content."""

    pack_id: Identifier = Field(description="The pack")
    pack_version: Label = Field(description="Its version")
    pack_hash: ContentHash = Field(description="Content hash of the pack")


class ProfileStamp(Model):
    """A profile that changed the packs, by name and content."""

    profile_id: Identifier = Field(description="The profile")
    profile_hash: ContentHash = Field(
        description="Content hash of its file, with every change, reason and approver"
    )


class EpisodeStamp(Model):
    """What an episode of the task needs beyond the records; on the first and the closing record."""

    title: Text = Field(description="What the task is, in a line")
    started_at: Timestamp = Field(description="When the task began")
    packs: Annotated[tuple[PackStamp, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="Every pack in force, matched or not"
    )
    profiles: Annotated[tuple[ProfileStamp, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="The profiles that changed the packs, in their order"
    )
    final_status: TaskStatus | None = Field(
        default=None, description="The status it closed with; null while it is open"
    )
    session_id: Identifier | None = Field(default=None, description="The agent's session")
    parent_task_id: Identifier | None = Field(default=None, description="The dispatching task")


class DecisionRecord(Model):
    """A decision with everything an auditor needs to see why it was made; one per event."""

    record_id: UuidText = Field(
        description="UUIDv5 of task, runtime, event, config hash and rule; also the message id"
    )
    recorded_at: UtcMillis = Field(description="When it was decided, by the broker's clock")
    runtime: Label = Field(description="The runtime of the event")
    task_id: Identifier = Field(description="The governed task")
    agent_id: Identifier = Field(description="The agent responsible")
    correlation_id: Identifier = Field(description="The workflow it belongs to")
    session_id: Identifier | None = Field(
        default=None,
        description="The session of the task: as told when it started, else its correlation id",
    )
    event_id: Identifier = Field(description="The event decided on")
    event_type: EventType = Field(description="Its type")
    event_timestamp: Timestamp = Field(description="When it happened")
    event_sequence: Positive = Field(description="Its sequence in the EVENTS stream")
    event_sha256: ContentHash = Field(description="Hash of the exact bytes stored")
    trigger_event_ids: Annotated[
        tuple[Identifier, ...], Field(min_length=1, max_length=MAX_ITEMS)
    ] = Field(description="Every event that led to the decision, this one included")
    decision: Decision = Field(description="The decision")
    matched_rules: Annotated[tuple[MatchedRule, ...], Field(max_length=MAX_ITEMS)] = Field(
        description="Every rule that fired, strongest first"
    )
    shadow_rules: Annotated[tuple[MatchedRule, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Rules in shadow mode that would have fired, strongest first"
    )
    suppressed_rules: Annotated[tuple[SuppressedRule, ...], Field(max_length=MAX_ITEMS)] = Field(
        default=(), description="Rules that a suppression window let rest, strongest first"
    )
    config_hash: ContentHash = Field(description="Hash of the packs and settings in force")
    decision_type: Label = Field(description="The decision type that governs the task")
    original_claim: OptionalText | None = Field(
        default=None, description="What the agent wanted to say, word for word"
    )
    evidence: EvidenceSummary = Field(description="The evidence at that moment")
    message_sent: OptionalText | None = Field(
        default=None, description="What the operator was really shown; null when nothing was"
    )
    receipt: DeliveryReceipt = Field(description="What became of the decision")
    task_closed: bool = Field(description="Whether the task ends with this record")
    episode: EpisodeStamp | None = Field(
        default=None, description="Facts of the task for its episode"
    )
