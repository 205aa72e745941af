"""What rules did, counted from decision records: for tuning them, and for judging shadow rules.

Records are taken as parsed JSON: a stream may hold those of other versions, and whole models of
many records take their time.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from lictor_schema.decisions.decision import Disposition

_EXAMPLES = 5


class RuleName(NamedTuple):
    """A rule of a version of a pack."""

    pack_id: str
    pack_version: str
    rule_id: str


class ShadowCase(NamedTuple):
    """An event on which a shadow rule would have decided otherwise."""

    task_id: str
    event_id: str
    event_type: str
    record_id: str
    was: str
    would_be: str
    reason: str


@dataclass
class RuleCounts:
    """What one rule did."""

    fired: int = 0
    """It fired, and its decision stood."""
    overridden: int = 0
    """It fired, and a stronger rule decided."""
    suppressed: int = 0
    """It would have fired, had a suppression window not let it rest."""
    shadow: int = 0
    """It would have fired, had it not been in shadow mode."""
    false_alarms: int = 0
    """Of those that stood, how many an operator has marked as false alarms."""
    would_change: int = 0
    """Of those in shadow mode, how many would have led to a stricter decision."""
    would_decide: Counter[str] = field(default_factory=Counter[str])
    """What it would have decided in shadow mode."""
    last: str = ""
    """When it did any of it last."""
    cases: list[ShadowCase] = field(default_factory=list[ShadowCase])


@dataclass
class RuleStats:
    """Counts by rule and version."""

    records: int = 0
    unreadable: int = 0
    no_rule: int = 0
    """Records of events that no rule fired on."""
    rules: dict[RuleName, RuleCounts] = field(default_factory=dict[RuleName, RuleCounts])
    false_alarms: frozenset[str] = frozenset()
    """The decision records that are marked as such."""

    def take(self, record: Any) -> None:
        """Count one record."""
        try:
            self._count(cast("Mapping[str, Any]", record))
        except (KeyError, TypeError, AttributeError, ValueError):
            self.unreadable += 1

    def _count(self, record: Mapping[str, Any]) -> None:
        when = str(record["recorded_at"])
        was = Disposition(record["decision"]["decision"])
        matched = _rules(record["matched_rules"])
        suppressed = _rules(record.get("suppressed_rules", ()))
        shadow = _rules(record.get("shadow_rules", ()))
        would_be = [Disposition(rule["decision"]) for _, rule in shadow]
        self.records += 1
        self.no_rule += not matched
        # The strongest comes first: it decided.
        for number, (name, _) in enumerate(matched):
            counts = self._at(name, when)
            counts.fired += number == 0
            counts.false_alarms += number == 0 and record["record_id"] in self.false_alarms
            counts.overridden += number > 0
        for name, _ in suppressed:
            self._at(name, when).suppressed += 1
        for (name, rule), disposition in zip(shadow, would_be, strict=True):
            counts = self._at(name, when)
            counts.shadow += 1
            counts.would_decide[disposition.value] += 1
            if disposition.precedence > was.precedence:
                counts.would_change += 1
                if len(counts.cases) < _EXAMPLES:
                    counts.cases.append(
                        ShadowCase(
                            record["task_id"],
                            record["event_id"],
                            record["event_type"],
                            record["record_id"],
                            was.value,
                            disposition.value,
                            rule["reason"],
                        )
                    )

    def _at(self, name: RuleName, when: str) -> RuleCounts:
        counts = self.rules.setdefault(name, RuleCounts())
        counts.last = max(counts.last, when)
        return counts


def _rules(given: Any) -> list[tuple[RuleName, Mapping[str, Any]]]:
    rules = cast("list[Mapping[str, Any]]", given)
    return [
        (RuleName(rule["pack_id"], rule["pack_version"], rule["rule_id"]), rule) for rule in rules
    ]
