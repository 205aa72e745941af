"""Two versions of packs: a state that they decide differently, shown by an example, or a proof that there is none."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from lictor_policy.judge.config import EvaluatorConfig
from lictor_prove.packs.analysis import assumptions_of
from lictor_prove.packs.examples import Example, Search
from lictor_prove.packs.invariants import known_on
from lictor_prove.packs.pack_terms import Side, symbols_for, translate
from lictor_prove.packs.z3_questions import QUESTION_MS, Term, Z3Terms
from lictor_schema.decisions.decision import Decision
from lictor_schema.events.event_types import EVENT_TYPES, EventType

Change = Literal["milder", "stricter", "other severity"]
ComparisonVerdict = Literal["same", "differs", "unknown"]

_ALLOWED = Decision.allow()
_NOTHING = (_ALLOWED.decision.precedence, _ALLOWED.severity.rank)
"""The strength of what is decided when no rule decides."""


@dataclass(frozen=True, slots=True)
class ProvedDifference:
    """A state of which the new packs say something else than the old ones."""

    change: Change
    example: Example
    """Judged by the old packs, then by the new ones."""

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        old, new = self.example.judged
        return {
            "change": self.change,
            "facts": dict(self.example.facts),
            "every_fact": dict(self.example.every_fact),
            "old": old.to_json_value(),
            "new": new.to_json_value(),
        }


@dataclass(frozen=True, slots=True)
class OnEvent:
    """What was found out about events of one type."""

    event_type: EventType
    differences: tuple[ProvedDifference, ...]
    unknown: tuple[str, ...]
    """The questions that were left open, and why."""

    @property
    def verdict(self) -> ComparisonVerdict:
        """`same` only when it is proved."""
        if self.differences:
            return "differs"
        return "unknown" if self.unknown else "same"

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "event_type": self.event_type,
            "verdict": self.verdict,
            "differences": [each.to_json_value() for each in self.differences],
            "unknown": list(self.unknown),
        }


@dataclass(frozen=True, slots=True)
class PackComparison:
    """What was found out about two versions, by event type."""

    events: tuple[OnEvent, ...]
    assumptions: tuple[str, ...]

    @property
    def verdict(self) -> ComparisonVerdict:
        """Of all event types together."""
        found = {each.verdict for each in self.events}
        return "differs" if "differs" in found else "unknown" if "unknown" in found else "same"

    def to_json_value(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "verdict": self.verdict,
            "events": [each.to_json_value() for each in self.events],
            "assumptions": list(self.assumptions),
        }


def compare(
    old: EvaluatorConfig, new: EvaluatorConfig, timeout_ms: int = QUESTION_MS
) -> PackComparison:
    """Where two sets of packs decide differently: another decision, or the same with another severity."""
    symbols = symbols_for(old, new)
    sides: dict[EventType, tuple[Side, Side]] = {
        each: (translate(old, each, symbols, "old"), translate(new, each, symbols, "new"))
        for each in EVENT_TYPES
    }
    events: list[OnEvent] = []
    for event_type, (before, after) in sides.items():
        asking = symbols.terms.asking(timeout_ms)
        asking.tell(known_on(event_type, symbols))
        asking.tell((*before.definitions, *after.definitions))
        search = Search(event_type, symbols, asking, [(old, before), (new, after)])
        events.append(_on_event(search, before, after))
    return PackComparison(tuple(events), tuple(assumptions_of(old, new)))


def _on_event(search: Search, before: Side, after: Side) -> OnEvent:
    differences: list[ProvedDifference] = []
    unknown: list[str] = []
    for change, goal in _goals(before, after, search.symbols.terms):
        found = search.find(goal)
        if found.example is not None:
            differences.append(ProvedDifference(change, found.example))
        elif not found.proved_none:
            unknown.append(f"whether a decision can be {change}: {found.why}")
    return OnEvent(search.event_type, tuple(differences), tuple(unknown))


def _goals(before: Side, after: Side, terms: Z3Terms) -> Iterator[tuple[Change, Term]]:
    strengths = {each.strength for side in (before, after) for each in side.voices}
    decisions = sorted({(each[0], 0) for each in strengths if each[0] > _NOTHING[0]})
    less = [_weaker(after, before, each, terms) for each in decisions]
    more = [_weaker(before, after, each, terms) for each in decisions]
    yield "milder", terms.any_of(less)
    yield "stricter", terms.any_of(more)
    exactly = sorted(each for each in strengths if each > _NOTHING)
    otherwise = [before.at_least(each, terms) != after.at_least(each, terms) for each in exactly]
    same = terms.denied(terms.any_of([*less, *more]))
    yield "other severity", terms.all_of([same, terms.any_of(otherwise)])


def _weaker(one: Side, other: Side, strength: tuple[int, int], terms: Z3Terms) -> Term:
    """When one side decides less than that strongly, and the other side does not."""
    return terms.all_of(
        [other.at_least(strength, terms), terms.denied(one.at_least(strength, terms))]
    )
