"""What an agent says about its own work: claims, checkpoint structure, promises, statuses."""

from enum import StrEnum

from pydantic import Field

from lictor_schema.core.base_model import Model, OptionalText, Text, Timestamp


class ClaimType(StrEnum):
    """How much a message asserts."""

    PROGRESS = "progress"
    COMPLETION = "completion"
    VERIFIED_COMPLETION = "verified_completion"


COMPLETION_CLAIMS = (ClaimType.COMPLETION, ClaimType.VERIFIED_COMPLETION)
"""The claims that the task is done."""


class TaskStatus(StrEnum):
    """Every status a task can report: the runtime's working states and the governed ones.

    `active`, `waiting_user` and `paused` come from runtimes, `in_progress`, `failed`,
    `awaiting_review` and `completed` from decisions, the other two from both.
    """

    ACTIVE = "active"
    IN_PROGRESS = "in_progress"
    WAITING_USER = "waiting_user"
    PAUSED = "paused"
    BLOCKED = "blocked"
    PENDING_VERIFICATION = "pending_verification"
    AWAITING_REVIEW = "awaiting_review"
    FAILED = "failed"
    COMPLETED = "completed"

    @property
    def is_terminal(self) -> bool:
        """Whether no more work is expected."""
        return self in (TaskStatus.FAILED, TaskStatus.COMPLETED)


class Claim(Model):
    """A statement about the task that evidence has to bear out."""

    type: ClaimType = Field(description="How much is claimed")
    text: Text = Field(description="The claim in the agent's own words")
    next_step: Text | None = Field(default=None, description="The next step the claim announces")


class CheckpointStructure(Model):
    """The five answers every checkpoint owes its operator; null where the agent gave none."""

    current_status: OptionalText | None = Field(default=None, description="Where the task stands")
    completed_this_segment: OptionalText | None = Field(
        default=None, description="What was finished since the last checkpoint"
    )
    next_step: OptionalText | None = Field(default=None, description="What happens next")
    next_report_condition: OptionalText | None = Field(
        default=None, description="When, or on what, the next report follows"
    )
    operator_intervention_needed: OptionalText | None = Field(
        default=None, description="Whether the operator must act, and how"
    )


class PromisedFollowup(Model):
    """A report the agent promised to make."""

    what: Text = Field(description="What was promised")
    due_at: Timestamp = Field(description="When it is due")
