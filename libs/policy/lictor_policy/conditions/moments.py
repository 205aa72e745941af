"""Which moments of a task's past a condition means, and what can be summed over them; checked at load."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

from lictor_policy.conditions.facts import unknown_name
from lictor_policy.errors import PackError
from lictor_policy.events.content import claim_type_of, is_visible_update, message_of
from lictor_policy.packs.strict_yaml import Path
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.claim import ClaimType
from lictor_schema.events.event import Event
from lictor_schema.events.event_types import EVENT_TYPES, EventType
from lictor_schema.events.evidence import EvidenceClass, EvidenceItem, Quality
from lictor_schema.packs.temporal_conditions import Moment

Fail = Callable[[Path, str], PackError]
"""Makes the error for a field; the caller knows file and rule."""
Matcher = Callable[[Event], bool]


@dataclass(frozen=True, slots=True)
class CompiledMoment:
    """A kind of moment: an event that happens, or one that is decided on."""

    name: str
    """Says what it is, always in the same words."""
    event: EventType | None
    decision: Disposition | None
    where: Matcher | None
    """What an event of that type must be besides."""

    def on_event(self, event_type: EventType) -> Matcher | None:
        """Whether an event of that type, when it happens, is such a moment; None when it never is."""
        if self.decision is not None or event_type != self.event:
            return None
        return self.where or _always

    def on_decision(self, disposition: Disposition) -> Matcher | None:
        """Whether an event that was decided so is such a moment; None when it never is."""
        if disposition is not self.decision:
            return None
        event_type, where = self.event, self.where
        if event_type is None:
            return _always
        if where is None:
            return lambda event: event.event_type == event_type
        return lambda event: event.event_type == event_type and where(event)


def _always(event: Event) -> bool:  # noqa: ARG001 -- the shape of a matcher
    return True


def compile_moment(moment: Moment, path: Path, fail: Fail) -> CompiledMoment:
    """Check a moment against the vocabulary of events and make it ready to be looked for."""
    name: str = moment.event or "*"
    where: Matcher | None = None
    if moment.where is not None and moment.event is not None:
        given = sorted(moment.where.items())
        tests = [
            _test(moment.event, key, value, (*path, "where", key), fail) for key, value in given
        ]
        where = tests[0] if len(tests) == 1 else lambda event: all(test(event) for test in tests)
        name += "(" + ",".join(f"{key}={json.dumps(value)}" for key, value in given) + ")"
    if moment.decision is not None:
        name += f" decided {moment.decision.value}"
    return CompiledMoment(name, moment.event, moment.decision, where)


def _test(event_type: EventType, key: str, value: Any, path: Path, fail: Fail) -> Matcher:
    fields = _FIELDS[event_type]
    kind = fields.get(key)
    if kind is None:
        raise fail(path, unknown_name(f"field of {event_type}", key, fields))
    if isinstance(kind, tuple):
        if value not in kind:
            known = ", ".join(repr(name) for name in kind)
            raise fail(path, f"{key} of {event_type} is never {value!r}; it is one of {known}")
    # Not isinstance: True is an int, and 1 is not true.
    elif type(value) is not kind:
        raise fail(
            path,
            f"{key} of {event_type} is compared with {value!r}, a {type(value).__name__};"
            f" it needs {kind.__name__}",
        )
    match key:
        case "claim_type":
            return lambda event: claim_type_of(event) == value
        case "evidence_class":
            return lambda event: any(item.evidence_class == value for item in _items(event))
        case "quality":
            return lambda event: any(item.quality == value for item in _items(event))
        case _:
            return lambda event: getattr(event.payload, key) == value


def _items(event: Event) -> tuple[EvidenceItem, ...]:
    return event.payload.items if event.event_type == "task_evidence_attached" else ()


_Kind = type[bool] | type[int] | type[str] | tuple[str, ...]


def _kind_of(annotation: Any) -> _Kind | None:
    """What a payload field can be compared with; None when it is no single value."""
    if hasattr(annotation, "__metadata__"):
        return _kind_of(annotation.__origin__)
    if get_origin(annotation) in (Union, UnionType):
        kinds = [_kind_of(part) for part in get_args(annotation) if part is not NoneType]
        return kinds[0] if len(kinds) == 1 else None
    if get_origin(annotation) is Literal:
        return tuple(str(name) for name in get_args(annotation))
    if isinstance(annotation, type):
        if issubclass(annotation, StrEnum):
            return tuple(member.value for member in annotation)
        if annotation in (bool, int, str):
            return cast(_Kind, annotation)
    return None


def _fields_of(kind: Any) -> dict[str, _Kind]:
    payload = kind.model_fields["payload"].annotation
    found = {name: _kind_of(field.annotation) for name, field in payload.model_fields.items()}
    fields = {name: each for name, each in found.items() if each is not None}
    # Beside the payload's own: what it claims, and what one of the items attached is.
    if "claim" in payload.model_fields:
        fields["claim_type"] = tuple(claim.value for claim in ClaimType)
    if "items" in payload.model_fields:
        fields["evidence_class"] = tuple(each.value for each in EvidenceClass)
        fields["quality"] = tuple(each.value for each in Quality)
    return fields


_FIELDS: dict[EventType, dict[str, _Kind]] = {
    get_args(kind.model_fields["event_type"].annotation)[0]: _fields_of(kind)
    for kind in get_args(get_args(Event)[0])
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A whole number that events add up to."""

    name: str
    meaning: str
    event_types: tuple[EventType, ...]
    amount: Callable[[Event], int]
    """Never less than zero."""


def _promises(event: Event) -> int:
    return (
        event.event_type == "task_checkpoint_sent" and event.payload.promised_followup is not None
    )


def _silent_seconds(event: Event) -> int:
    return event.payload.timeout_s if event.event_type == "silence_timeout" else 0


_ALL = (
    Measure(
        "evidence_items",
        "Evidence items attached, the same item again included",
        ("task_evidence_attached",),
        lambda event: len(_items(event)),
    ),
    Measure(
        "visible_updates",
        "Reports that the operator could see",
        ("task_checkpoint_sent", "forced_operator_update"),
        is_visible_update,
    ),
    Measure(
        "promised_followups",
        "Further reports promised",
        ("task_checkpoint_sent",),
        _promises,
    ),
    Measure(
        "message_characters",
        "Characters of the messages meant for the operator",
        (
            "task_checkpoint_sent",
            "task_claimed_complete",
            "subagent_result_forwarded",
            "forced_operator_update",
        ),
        lambda event: len(message_of(event) or ""),
    ),
    Measure(
        "silent_seconds",
        "Seconds of the silence windows that ran out",
        ("silence_timeout",),
        _silent_seconds,
    ),
    Measure(
        "evidence_refs",
        "References to evidence that events carry",
        EVENT_TYPES,
        lambda event: len(event.evidence_refs),
    ),
)

MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ALL}
