"""What a rule says in a record, as JSON text: its line, its decision, its notice.

Most of each is fixed when the pack is loaded, and written then by the canonical models; what depends on the event is
put in when the rule fires. Building the models anew for every rule that fires takes three times as long.
"""

from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

from lictor_policy.json_text import optional
from lictor_policy.templates import Situation, Template
from lictor_schema.decisions import (
    Decision,
    MatchedRule,
    OperatorNotice,
    PackStamp,
    Severity,
)
from lictor_schema.model import Model
from lictor_schema.packs import DecisionOutput

# Stands in for a text that isn't known yet. A quote inside a JSON string is escaped, so a field with its quotes is
# found only where it is a field.
_OPEN = "?"


def _cut(model: Model, *fields: str) -> tuple[str, ...]:
    """The model's JSON, cut open at fields that hold the stand-in or null."""
    rest = model.to_json().decode()
    parts: list[str] = []
    for field in fields:
        before, found, rest = rest.partition(field)
        if not found:
            raise AssertionError(f"{type(model).__name__} has no {field}")
        parts.append(before + field.partition(":")[0] + ":")
    return (*parts, rest)


class NoticeText(NamedTuple):
    """A notice that was put in words."""

    strictness: tuple[bool, int, bool]
    """Whether it is owed, how urgent it is, whether it has a deadline: the greatest is kept."""
    json: str

    @property
    def is_owed(self) -> bool:
        """Whether the operator must be told."""
        return self.strictness[0]


@dataclass(frozen=True, slots=True)
class NoticeForm:
    """The notice a rule demands, but for channel and text."""

    strictness: tuple[bool, int, bool]
    parts: tuple[str, ...]
    channel: Template
    text: Template | None

    @classmethod
    def of(cls, notice: OperatorNotice, channel: Template, text: Template | None) -> "NoticeForm":
        """What is fixed of a notice."""
        shape = notice.model_copy(update={"channel": _OPEN, "message": None})
        return cls(
            (notice.required, notice.urgency.rank, notice.deadline is not None),
            _cut(shape, f'"channel":"{_OPEN}"', '"message":null'),
            channel,
            text,
        )

    def fill(self, situation: Situation) -> NoticeText:
        """The notice about a situation."""
        to_channel, to_message, rest = self.parts
        message = None if self.text is None else self.text.fill(situation)
        channel = self.channel.fill(situation) or "operator"
        return NoticeText(
            self.strictness,
            f"{to_channel}{quoted(channel)}{to_message}{optional(message)}{rest}",
        )


@dataclass(frozen=True, slots=True)
class RuleText:
    """The fixed parts of what a rule says."""

    line: tuple[str, ...]
    decision: tuple[str, ...]
    status: str

    @classmethod
    def of(
        cls,
        stamp: PackStamp,
        rule_id: str,
        policy_id: str,
        severity: Severity,
        output: DecisionOutput,
    ) -> "RuleText":
        """What is fixed of a rule's line in the record and of its decision."""
        line = MatchedRule(
            pack_id=stamp.pack_id,
            pack_version=stamp.pack_version,
            pack_hash=stamp.pack_hash,
            rule_id=rule_id,
            decision=output.decision,
            severity=severity,
            reason=_OPEN,
        )
        decision = Decision(
            decision=output.decision,
            policy_id=policy_id,
            severity=severity,
            reason=_OPEN,
            rewritten_message=None,
            suggested_status=output.suggested_status,
            required_actions=output.required_actions,
            operator_notice=None,
        )
        reason = f'"reason":"{_OPEN}"'
        suggested = output.suggested_status
        status = "null" if suggested is None else f'"{suggested.value}"'
        return cls(
            _cut(line, reason),
            _cut(
                decision,
                reason,
                '"rewritten_message":null',
                f'"suggested_status":{status}',
                '"operator_notice":null',
            ),
            status,
        )

    def write_line(self, reason: str) -> str:
        """The rule's line in the record."""
        head, rest = self.line
        return f"{head}{quoted(reason)}{rest}"

    def write_decision(
        self, reason: str, rewritten: str | None, notice: NoticeText | None, *, moves: bool = True
    ) -> str:
        """The rule's decision, with the notice that all matched rules together demand.

        It suggests no status to a task that it doesn't move.
        """
        to_reason, to_message, to_status, to_notice, rest = self.decision
        told = "null" if notice is None else notice.json
        return (
            f"{to_reason}{quoted(reason)}{to_message}{optional(rewritten)}{to_status}"
            f"{self.status if moves else 'null'}{to_notice}{told}{rest}"
        )


def with_window(line: str, window_id: str) -> str:
    """The line of a rule that a suppression window lets rest."""
    return f'{line[:-1]},"window_id":{quoted(window_id)}}}'
