"""Events are read strictly, and what is wrong with one is told by the sender's own field names."""

import json
from datetime import datetime
from typing import Any

import pytest
from pydantic import ValidationError

from lictor_schema.core.canonical_json import CanonicalError
from lictor_schema.errors import FieldProblem, describe_validation_error
from lictor_schema.events.event import (
    EventEnvelope,
    TaskCheckpointSent,
    TaskEvidenceAttached,
    parse_event,
)
from lictor_schema.events.event_types import EVENT_TYPES
from lictor_schema.json_schemas import event_models

ENVELOPE = (
    "event_id",
    "event_type",
    "runtime",
    "adapter_version",
    "agent_id",
    "task_id",
    "correlation_id",
    "timestamp",
    "payload",
    "evidence_refs",
    "operator_context",
)


def checkpoint(**changes: Any) -> dict[str, Any]:
    """A checkpoint event as a runtime would send it; `payload__claim__text=1` changes deep down."""
    event: dict[str, Any] = {
        "event_id": "evt-1",
        "event_type": "task_checkpoint_sent",
        "runtime": "openclaw",
        "adapter_version": "1.0.0",
        "agent_id": "agent-1",
        "task_id": "task-1",
        "correlation_id": "corr-1",
        "timestamp": "2026-01-31T12:00:00Z",
        "payload": {
            "message": "Two of five tables moved.",
            "operator_visible": True,
            "claim": {"type": "progress", "text": "two of five"},
        },
        "evidence_refs": [{"kind": "log", "ref": "migration.log"}],
        "operator_context": {"channel": "telegram"},
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        place: Any = event
        for parent in parents:
            place = place[parent]
        place[last] = value
    return event


def evidence(**changes: Any) -> dict[str, Any]:
    """An event that attaches one evidence item."""
    item = {
        "evidence_id": "ev-1",
        "task_id": "task-1",
        "correlation_id": "corr-1",
        "agent_id": "agent-1",
        "class": "tool_output",
        "quality": "moderate",
        "summary": "the tests pass",
        "captured_at": "2026-01-31T12:00:00Z",
        "refs": [{"kind": "log", "ref": "test.log"}],
        "supports": {"claim_types": ["completion"]},
    }
    return checkpoint(event_type="task_evidence_attached", payload={"items": [{**item, **changes}]})


def problems(event: Any) -> list[FieldProblem]:
    """What is wrong with an event."""
    with pytest.raises(ValidationError) as caught:
        parse_event(json.dumps(event))
    return list(describe_validation_error(caught.value))


def test_there_are_sixteen_types_each_with_its_own_class_and_payload() -> None:
    models = event_models()
    assert tuple(models) == EVENT_TYPES
    assert len(EVENT_TYPES) == 16
    assert len({model.model_fields["payload"].annotation for model in models.values()}) == 16
    assert all(issubclass(model, EventEnvelope) for model in models.values())


@pytest.mark.parametrize("model", event_models().values())
def test_the_envelope_has_eleven_required_fields(model: type[EventEnvelope[Any, Any]]) -> None:
    assert tuple(model.model_fields) == ENVELOPE
    assert all(field.is_required() for field in model.model_fields.values())


def test_an_event_is_read_as_the_class_of_its_type() -> None:
    event = parse_event(json.dumps(checkpoint()))
    assert isinstance(event, TaskCheckpointSent)
    assert event.payload.claim is not None
    assert event.payload.claim.text == "two of five"


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-01-31T12:00:00Z", 0),
        ("2026-01-31T14:00:00.5+02:00", 500_000),
        ("2026-01-31T12:00:00.123456789-00:30", 123_456),
    ],
)
def test_a_time_is_read_with_any_offset_and_cut_to_microseconds(
    text: str, microsecond: int
) -> None:
    moment = parse_event(json.dumps(checkpoint(timestamp=text))).timestamp
    assert moment.microsecond == microsecond
    assert moment.utcoffset() == datetime.fromisoformat(text).utcoffset()


def test_an_event_cannot_be_changed() -> None:
    event = parse_event(json.dumps(checkpoint()))
    with pytest.raises(ValidationError, match="frozen"):
        event.task_id = "other"  # pyright: ignore[reportAttributeAccessIssue]  -- the point here


@pytest.mark.parametrize("field", ENVELOPE)
def test_a_missing_envelope_field_is_named(field: str) -> None:
    event = {name: value for name, value in checkpoint().items() if name != field}
    (problem,) = problems(event)
    assert (problem.path, problem.problem) == (field, "is required and missing")


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"event_type": "task_begun"}, "event_type", "is not a known value; use one of"),
        ({"event_type": None}, "event_type", "is not a known value"),
        ({"event_id": ""}, "event_id", "at least 1 character"),
        ({"event_id": "x" * 513}, "event_id", "at most 512 characters"),
        ({"task_id": 7}, "task_id", "must be a valid string"),
        ({"runtime": "x" * 257}, "runtime", "at most 256 characters"),
        ({"surplus": 1}, "surplus", "is not a known field"),
        ({"timestamp": "2026-01-31T12:00:00"}, "timestamp", "with an offset"),
        ({"timestamp": "2026-01-31 12:00:00Z"}, "timestamp", "RFC 3339"),
        ({"timestamp": "2026-02-30T12:00:00Z"}, "timestamp", "day value is outside"),
        ({"timestamp": "2026-01-31T12:00:60Z"}, "timestamp", "RFC 3339"),
        ({"timestamp": "9999-12-31T23:59:59-12:00"}, "timestamp", "RFC 3339"),
        ({"timestamp": 1767225600}, "timestamp", "must be a valid string"),
        ({"timestamp": "1767225600"}, "timestamp", "RFC 3339"),
        ({"payload": None}, "payload", "must be an object"),
        ({"payload__message": ""}, "payload.message", "at least 1 character"),
        ({"payload__message": "x" * 65537}, "payload.message", "at most 65536 characters"),
        ({"payload__operator_visible": "yes"}, "payload.operator_visible", "valid boolean"),
        ({"payload__operator_visible": 1}, "payload.operator_visible", "valid boolean"),
        ({"payload__claim__text": 3}, "payload.claim.text", "must be a valid string"),
        ({"payload__claim__type": "done"}, "payload.claim.type", "must be 'progress'"),
        ({"payload__claim__extra": 1}, "payload.claim.extra", "is not a known field"),
        ({"payload__title": "x"}, "payload.title", "is not a known field"),
        ({"evidence_refs": [{"kind": "log"}]}, "evidence_refs.0.ref", "required and missing"),
        ({"evidence_refs": {}}, "evidence_refs", "valid array"),
        (
            {"evidence_refs": [{"kind": "log", "ref": "a"}] * 1001},
            "evidence_refs",
            "at most 1000 items",
        ),
        (
            {"evidence_refs": [{"kind": "log", "ref": "a", "sha256": "abc"}]},
            "evidence_refs.0.sha256",
            "must match the pattern",
        ),
        ({"operator_context__mood": "calm"}, "operator_context.mood", "is not a known field"),
    ],
)
def test_what_is_wrong_is_told_with_the_field(
    changes: dict[str, Any], path: str, words: str
) -> None:
    (problem,) = problems(checkpoint(**changes))
    assert problem.path == path
    assert words in problem.problem


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"refs": []}, "payload.items.0.refs"),
        ({"quality": "great"}, "payload.items.0.quality"),
        ({"class": "rumour"}, "payload.items.0.class"),
        ({"supports": None}, "payload.items.0.supports"),
        ({"summary": ""}, "payload.items.0.summary"),
        ({"captured_at": "yesterday"}, "payload.items.0.captured_at"),
        ({"evidence_class": "tool_output"}, "payload.items.0.evidence_class"),
    ],
)
def test_a_bad_evidence_item_is_told_with_its_field(changes: dict[str, Any], path: str) -> None:
    assert [problem.path for problem in problems(evidence(**changes))] == [path]


def test_evidence_is_spelled_class_at_the_wire() -> None:
    event = parse_event(json.dumps(evidence()))
    assert isinstance(event, TaskEvidenceAttached)
    assert b'"class":"tool_output"' in event.to_json()


def test_evidence_without_items_is_refused() -> None:
    event = checkpoint(event_type="task_evidence_attached", payload={"items": []})
    assert [problem.path for problem in problems(event)] == ["payload.items"]


def test_evidence_for_another_task_is_refused() -> None:
    (problem,) = problems(evidence(task_id="task-2"))
    assert problem.problem == "payload.items.0.task_id must equal the task_id of the event"


def test_the_payload_of_another_type_is_refused_field_by_field() -> None:
    paths = {problem.path for problem in problems(checkpoint(event_type="silence_timeout"))}
    assert {"payload.silent_since", "payload.timeout_s", "payload.message"} <= paths


@pytest.mark.parametrize("interval", [0, -1, 1.5, "60", True, 2**53])
def test_a_checkpoint_interval_is_a_whole_number_of_seconds_from_one(interval: object) -> None:
    event = checkpoint(
        event_type="task_started",
        payload={
            "title": "Move the tables",
            "mode": "silent",
            "workflow_shape": "single-agent",
            "channel": "telegram",
            "checkpoint_interval_s": interval,
        },
    )
    assert [problem.path for problem in problems(event)] == ["payload.checkpoint_interval_s"]


def test_every_problem_is_told_not_only_the_first() -> None:
    event = checkpoint(task_id="", payload__claim__text=1, surplus=2)
    paths = {problem.path for problem in problems(event)}
    assert paths == {"task_id", "payload.claim.text", "surplus"}


def test_a_huge_input_is_quoted_in_at_most_eighty_printable_characters() -> None:
    (problem,) = problems(checkpoint(event_id="\x00" * 100_000))
    assert len(problem.excerpt) <= 80
    assert problem.excerpt.isprintable()


def test_a_document_that_is_no_object_is_told_as_a_whole() -> None:
    (problem,) = problems([1, 2])
    assert (problem.path, problem.excerpt) == ("$", "array of 2")


def test_a_key_sent_twice_is_refused() -> None:
    text = json.dumps(checkpoint()).replace('"runtime"', '"task_id": "other", "runtime"')
    with pytest.raises(CanonicalError, match="'task_id' stands twice"):
        parse_event(text)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ValidationError):
        parse_event(json.dumps(checkpoint(task_id="\ud800")))
