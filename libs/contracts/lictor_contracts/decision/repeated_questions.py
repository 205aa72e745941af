"""The content of a question, read from its entry, to tell a repeated question from another one under the same id.

The answer to a question may be lost, and the sender then repeats it under the same id. That must count
once, and get the first answer; other content under that id is new, and must not pass for it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from lictor_schema.contracts.decision_log import ActionDispatched, AnyDecisionEntry

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "stage_begun": ("stage",),
    "degraded": ("stage",),
    "stage_ended": ("stage",),
    "context_captured": ("feature", "captured_at_us", "value"),
    "spread_counted": ("hops", "fanout", "tool_calls", "chain_depth"),
    "action_dispatched": ("action_id", "action_type", "action_hash"),
    "action_finished": (
        "action_id",
        "outcome",
        "result_hash",
        "expected",
        "observed",
        "retries",
    ),
    "action_verified": ("action_id",),
    "action_approved": ("approver", "action_hash"),
    "bypass_approved": ("approver",),
    "decision_frozen": ("by",),
    "decision_resumed": ("by",),
}


class QuestionTold(NamedTuple):
    """The kind of entry that a question led to, and its content."""

    kind: str
    values: tuple[object, ...] = ()
    problem: str | None = None
    """What was wrong with a dispatch."""

    def is_that(self, kind: str, source: object = None, **more: object) -> bool:
        """Whether a question has the same content: its fields are those of ``source``, or given by name."""
        return self.kind == kind and self.values == _values(kind, source, more)


def told_by(entry: AnyDecisionEntry) -> QuestionTold:
    """The content of the question that led to an entry."""
    problem = entry.problem if isinstance(entry, ActionDispatched) else None
    return QuestionTold(entry.kind, _values(entry.kind, entry, {}), problem)


def _values(kind: str, source: object, more: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(
        more[name] if name in more else getattr(source, name) for name in _FIELDS.get(kind, ())
    )
