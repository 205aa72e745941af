"""What a rule says in a record, as JSON text: its line, its decision, its notice.

Most of each is fixed when the pack is loaded, and written then by the canonical models; what depends on the event is
put in when the rule fires. Building the models anew for every rule that fires takes three times as long.
"""

from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from lictor_policy.decisions.json_text import optional
from lictor_policy.rules.templates import Template
from lictor_schema.core.base_model import Model
from lictor_schema.decisions.decision import (
    Decision,
    MatchedRule,
    OperatorNotice,
    PackStamp,
    Severity,
)
from lictor_schema.packs.pack import DecisionOutput

# Stands in for a text that isn't known yet. A quote inside a JSON string is escaped, so a field with its quotes is
# found only where it is a field.
_OPEN = "?"


def cut(model: Model, *fields: str) -> tuple[str, ...]:
    """The model's JSON, cut open at fields that hold the stand-in or null."""
    rest = model.to_json().decode()
    parts: list[str] = []
    for field in fields:
        before, found, rest = rest.partition(field)
        if not found:
            raise AssertionError(f"{type(model).__name__} has no {field}")
        parts.append(before + field.partition(":")[0] + ":")
    return (*parts, rest)


NoticeText = str
"""A notice that was put in words, as JSON."""


class NoticeForm(NamedTuple):
    """The notice a rule demands, but for channel and text."""

    notice: OperatorNotice
    channel: Template
    text: Template | None


class DecisionText(NamedTuple):
    """The fixed parts of a decision."""

    parts: tuple[str, ...]
    status: str

    @classmethod
    def of(cls, decision: Decision) -> "DecisionText":
        """What is fixed of a decision whose reason is open."""
        suggested = decision.suggested_status
        status = "null" if suggested is None else f'"{suggested.value}"'
        return cls(
            cut(
                decision,
                f'"reason":"{_OPEN}"',
                '"rewritten_message":null',
                f'"suggested_status":{status}',
                '"operator_notice":null',
            ),
            status,
        )

    def write(
        self, reason: str, rewritten: str | None, notice: NoticeText | None, *, moves: bool = True
    ) -> str:
        """The decision; it suggests no status to a task that it doesn't move."""
        to_reason, to_message, to_status, to_notice, rest = self.parts
        return (
            f"{to_reason}{quoted(reason)}{to_message}{optional(rewritten)}{to_status}"
            f"{self.status if moves else 'null'}{to_notice}{notice or 'null'}{rest}"
        )


class RuleLine(NamedTuple):
    """The fixed parts of a rule's line in the record."""

    parts: tuple[str, ...]

    @classmethod
    def of(
        cls, stamp: PackStamp, rule_id: str, severity: Severity, output: DecisionOutput
    ) -> "RuleLine":
        """What is fixed of a rule's line."""
        line = MatchedRule(
            pack_id=stamp.pack_id,
            pack_version=stamp.pack_version,
            pack_hash=stamp.pack_hash,
            rule_id=rule_id,
            decision=output.decision,
            severity=severity,
            reason=_OPEN,
        )
        return cls(cut(line, f'"reason":"{_OPEN}"'))

    def write(self, reason: str) -> str:
        """The rule's line in the record."""
        head, rest = self.parts
        return f"{head}{quoted(reason)}{rest}"


def with_window(line: str, window_id: str) -> str:
    """The line of a rule that a suppression window lets rest."""
    return f'{line[:-1]},"window_id":{quoted(window_id)}}}'
