"""Cedar (AWS), through cedarpy: one `permit` per rule; the policies that permit are the rules that fire."""

import json
from typing import Any

import cedarpy

from lictor_schema.events.event_types import EventType
from peers.grammar import Grammar
from peers.questions import Context, Question, Questions, Scalar

_REQUEST = {
    "principal": {"type": "Task", "id": "task"},
    "action": {"type": "Act", "id": "report"},
    "resource": {"type": "Report", "id": "report"},
}


class Cedar:
    """Parses once per event type; asks with the context as JSON, which is what the engine takes."""

    name = "cedarpy"

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._policies = {
            event_type: cedarpy.PolicySet.from_str("\n".join(map(_policy, asked)))
            for event_type, asked in questions.items()
        }
        self._entities = cedarpy.Entities.from_json_str("[]")

    def matched(self, event_type: EventType, context: Context) -> list[Question]:
        """The rules that fire, in pack order."""
        policies = self._policies.get(event_type)
        if policies is None:
            return []
        request: dict[str, Any] = {**_REQUEST, "context": json.dumps(context)}
        told = cedarpy.is_authorized(request, policies, self._entities).diagnostics
        if told.errors:
            raise RuntimeError(f"Cedar could not decide: {told.errors}")
        # The parser names policies policy0, policy1, …
        numbers = sorted(int(reason.removeprefix("policy")) for reason in told.reasons)
        asked = self._questions[event_type]
        return [asked[number] for number in numbers]


def _policy(question: Question) -> str:
    return f"permit(principal, action, resource) when {{ {_GRAMMAR.spell(question.expression)} }};"


def _literal(value: Scalar) -> str:
    return f'"{_escaped(value)}"' if isinstance(value, str) else str(value).lower()


def _escaped(text: str) -> str:
    return "".join(
        each if each.isalnum() or each in " _-*" else f"\\u{{{ord(each):x}}}" for each in text
    )


def _contains(name: str, text: str) -> str:
    pattern = _escaped(text).replace("*", "\\*")
    return f'{name} like "*{pattern}*"'


_GRAMMAR = Grammar(
    every="&&",
    some="||",
    never="!",
    one_of="[{members}].contains({name})",
    contains=_contains,
    literal=_literal,
    prefix="context.",
)
