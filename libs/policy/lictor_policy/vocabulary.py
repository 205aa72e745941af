"""Everything a pack can name, in words: facts, signals, measures, and the variables of texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lictor_policy.conditions import FITTING
from lictor_policy.facts import FACTS, SIGNALS
from lictor_policy.moments import MEASURES
from lictor_policy.templates import VARIABLES

VARIABLE_MEANINGS: dict[str, str] = {
    "agent_id": "The agent of the event",
    "best_quality": "The strongest evidence attached to the task",
    "channel": "The channel the operator is reported to",
    "claim_text": "What the event claims, word for word",
    "claim_type": "How much the event claims; none when it claims nothing",
    "completion_quality": "The strongest evidence offered for a completion",
    "current_status": "The status of the task before the event",
    "event_id": "The id of the event",
    "event_type": "The type of the event",
    "last_visible_update": "When the operator last saw an update",
    "missed_in_a_row": "Checkpoints missed since the last visible update",
    "missing_evidence": "What the rules that fired ask for and the task lacks",
    "new_evidence_items": "Evidence items attached since the last checkpoint",
    "next_step": "The next step that the claim announces",
    "original_message": "The text meant for the operator, word for word",
    "silences_in_a_row": "Silence windows that ran out since the last visible update",
    "task_id": "The id of the task",
    "task_title": "What the task is, in a line",
}
"""What each variable stands for."""


@dataclass(frozen=True, slots=True)
class Word:
    """One name that a pack can use."""

    kind: Literal["fact", "signal", "measure", "variable"]
    name: str
    meaning: str
    type: str = "str"
    values: tuple[str, ...] = ()
    """Every text it can be, where that is known."""
    comparators: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()
    """The events that can raise a signal."""

    def to_json_value(self) -> dict[str, Any]:
        """The word for `--json`: only what its kind has."""
        value: dict[str, Any] = {"kind": self.kind, "name": self.name, "meaning": self.meaning}
        if self.kind == "fact":
            value |= {"type": self.type, "comparators": list(self.comparators)}
            if self.values:
                value["values"] = list(self.values)
        if self.kind == "signal":
            value["event_types"] = list(self.event_types)
        return value


def vocabulary() -> Iterator[Word]:
    """All words, facts first."""
    for fact in FACTS.values():
        yield Word(
            "fact",
            fact.name,
            fact.meaning,
            type=fact.type.value,
            values=fact.values or (),
            comparators=FITTING[fact.type],
        )
    for signal in SIGNALS.values():
        yield Word("signal", signal.name, signal.meaning, event_types=signal.event_types)
    for measure in MEASURES.values():
        yield Word("measure", measure.name, measure.meaning)
    for name in VARIABLES:
        yield Word("variable", name, VARIABLE_MEANINGS.get(name, ""))
