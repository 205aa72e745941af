"""Everything a pack can name, in words: facts, signals, measures, and the variables of texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lictor_policy.conditions.compiled_condition import FITTING
from lictor_policy.conditions.facts import FACTS
from lictor_policy.conditions.moments import MEASURES
from lictor_policy.events.content import CHECKPOINT_ANSWERS
from lictor_policy.rules.signals import SIGNALS
from lictor_policy.rules.templates import VARIABLES

VARIABLE_MEANINGS: dict[str, str] = {
    **{
        f"answer_{name}": f"The report's answer to {what}, or that it is not given"
        for name, what in CHECKPOINT_ANSWERS.items()
    },
    "agent_id": "The agent of the event",
    "best_quality": "The strongest evidence attached to the task",
    "channel": "The channel the operator is reported to",
    "child_due": "When what the child of the event owes was due",
    "child_failure": "What went wrong with the child of the event",
    "child_run": "The run of the child that the event is about",
    "claim_text": "What the event claims, as a quotation",
    "claim_type": "How much the event claims; none when it claims nothing",
    "completion_quality": "The strongest evidence offered for a completion",
    "current_status": "The status of the task before the event",
    "event_id": "The id of the event",
    "event_type": "The type of the event",
    "last_visible_update": "When the operator last saw an update",
    "missed_in_a_row": "Checkpoints missed since the last visible update",
    "missing_answers": "Which of the five checkpoint answers the report does not give",
    "missing_evidence": "What the rules that fired ask for and the task lacks",
    "new_evidence_items": "Evidence items attached since the last checkpoint",
    "next_step": "The next step that the claim announces",
    "open_promise": "What was promised and has not come yet, what is due first",
    "open_promise_by": "When that is to be there",
    "original_message": "The text meant for the operator, whole, as a quotation",
    "owed": "The overdue thing that the event tells of, in a few words",
    "promised": "What was promised that is due now",
    "promised_by": "When that was to be there",
    "silences_in_a_row": "Silence windows that ran out since the last visible update",
    "status_only_in_a_row": "Reports in a row that brought no new evidence",
    "task_id": "The id of the task",
    "task_title": "What the task is, in a line",
    "times_told": "How often the overdue thing was told, this time included",
    "unforwarded_results": "How many children's results the operator has not been shown",
    "unreported_failures": "How many children failed without a report since",
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
