"""How a task stands in the canonical model: what other services may ask the policy evaluator."""

from pydantic import Field

from lictor_schema.core.base_model import Count, Identifier, Model, Text
from lictor_schema.events.claim import TaskStatus
from lictor_schema.events.evidence import Quality
from lictor_schema.gates.gate import GateRequest

MAX_COUNTED_ITEMS = 8
"""So many items of a quality the policy evaluator can always tell of; of more, it may tell of fewer."""


class StandingRequest(GateRequest):
    """How does this task stand?"""


class TaskStanding(Model):
    """A task as far as its events have been judged."""

    request_id: Identifier = Field(description="The question")
    known: bool = Field(description="Whether the task ever started; all else is empty when not")
    closed: bool = Field(default=False, description="Whether it has ended")
    status: TaskStatus | None = Field(default=None, description="Its reported status")
    evidence: dict[Quality, Count] = Field(
        default_factory=dict[Quality, int],
        description="How many evidence items of each quality are attached; of a great many, at least so many",
    )
    items_total: Count = Field(
        default=0, description="All items of at least weak quality that were attached so far"
    )
    state_sequence: Count = Field(
        default=0, description="Sequence in EVENTS up to which its history was counted"
    )
    problem: Text | None = Field(
        default=None, description="Why it can't be told; nothing else counts then"
    )

    @property
    def evidence_count(self) -> int:
        """All items that show anything."""
        return max(self.items_total, self.at_least(Quality.WEAK))

    def at_least(self, quality: Quality) -> int:
        """Items of this quality or a better one."""
        return sum(count for found, count in self.evidence.items() if found.rank >= quality.rank)
