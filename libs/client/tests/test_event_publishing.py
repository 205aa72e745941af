"""Publishing through the SDK: stored once, or refused with the field named."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from nats.aio.client import Client

import lictor
from lictor import errors
from lictor.event_publishing import read_event
from lictor_bus.names import streams, subjects
from lictor_bus.wire.connection import connect_nats
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import EmbeddedServers, Endpoints
from lictor_schema.events.event import MAX_EVENT_BYTES, TaskStarted, parse_event


def started(**changes: Any) -> dict[str, Any]:
    return {
        "event_id": "event-1",
        "event_type": "task_started",
        "runtime": "test",
        "adapter_version": "1",
        "agent_id": "tester",
        "task_id": "task-1",
        "correlation_id": "task-1",
        "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
        "payload": {
            "title": "a task",
            "mode": "interactive",
            "workflow_shape": "single-agent",
            "channel": "terminal",
        },
        "evidence_refs": [],
        "operator_context": {},
        **changes,
    }


def evidence(task_id: str, count: int) -> list[dict[str, Any]]:
    return [
        {
            "evidence_id": f"evidence-{number}",
            "task_id": task_id,
            "correlation_id": task_id,
            "agent_id": "tester",
            "class": "tool_output",
            "quality": "weak",
            "summary": "x" * 60_000,
            "captured_at": datetime(2026, 1, 1, tzinfo=UTC),
            "refs": [{"kind": "log", "ref": "here"}],
            "supports": {"claim_types": []},
        }
        for number in range(count)
    ]


async def test_a_stored_event_can_be_read_back_from_the_stream(
    governor: lictor.Governor, broker: Client
) -> None:
    published = await governor.publish(started())
    assert published == lictor.Published("task-1", "event-1", 1, False)
    (stored,) = await read_from(broker, streams.EVENTS, subjects.EVENT.all, 1, 10)
    assert parse_event(stored.body) == read_event(started())
    assert re.fullmatch(r"lictor\.ev\.[0-3]\.test\.task-1", stored.subject)
    assert stored.headers["Nats-Msg-Id"] == "task-1:test:event-1"


async def test_an_event_can_be_a_model_a_mapping_text_or_bytes(governor: lictor.Governor) -> None:
    model = read_event(started())
    assert isinstance(model, TaskStarted)
    forms = [model, started(), model.to_json(), model.to_json().decode()]
    assert [(await governor.publish(form)).sequence for form in forms] == [1, 1, 1, 1]


async def test_the_same_event_again_is_a_duplicate_with_the_first_sequence(
    governor: lictor.Governor,
) -> None:
    first = await governor.publish(started())
    await governor.publish(started(event_id="event-2"))
    again = await governor.publish(started())
    assert (again.sequence, again.duplicate) == (first.sequence, True)


async def test_one_event_id_in_two_tasks_is_two_events(governor: lictor.Governor) -> None:
    await governor.publish(started())
    other = await governor.publish(started(task_id="task-2"))
    assert not other.duplicate


async def test_the_tasks_methods_publish_valid_events_of_their_types(
    governor: lictor.Governor, broker: Client
) -> None:
    task = await governor.start_task("a task", checkpoint_interval_s=60, silence_timeout_s=90)
    await task.checkpoint("half way", claim="half is done", structure={"next_step": "the rest"})
    await task.attach_evidence("it works", refs=[{"kind": "log", "ref": "1"}], quality="strong")
    await task.change_status("paused", "lunch", from_status="active")
    await task.claim_complete("done", verified=True)
    stored = await read_from(broker, streams.EVENTS, subjects.EVENT.all, 1, 10)
    events = [parse_event(one.body) for one in stored]
    assert [event.event_type for event in events] == [
        "task_started",
        "task_checkpoint_sent",
        "task_evidence_attached",
        "task_status_changed",
        "task_claimed_complete",
    ]
    assert {event.task_id for event in events} == {task.task_id}
    assert {(event.runtime, event.agent_id) for event in events} == {("test", "tester")}
    assert events[1].payload.claim.type == "progress"  # type: ignore[union-attr]
    offered = events[2].payload.items[0].supports.claim_types  # type: ignore[union-attr]
    assert offered == ("progress", "completion", "verified_completion")
    assert events[4].payload.claim.type == "verified_completion"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"event_type": "no_such_type"}, "event_type is not a known value"),
        ({"runtime": 7}, "runtime must be a valid string"),
        ({"timestamp": "2026-01-01T00:00:00"}, "timestamp must be an RFC 3339 time with an offset"),
        ({"payload": {"title": "x"}}, "payload.mode is required and missing"),
        ({"extra": 1}, "extra is not a known field"),
        ({"task_id": "\ud800"}, "task_id can't be written as JSON"),
        ({"payload": {"title": object()}}, "payload.title can't be written as JSON"),
        ({"agent_id": float("nan")}, "agent_id must be a valid string"),
    ],
)
async def test_an_invalid_event_is_refused_by_field_and_nothing_is_stored(
    governor: lictor.Governor, broker: Client, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(errors.InvalidEvent) as caught:
        await governor.publish(started(**changes))
    assert told in str(caught.value)
    assert await read_from(broker, streams.EVENTS, subjects.EVENT.all, 1, 10) == []


async def test_text_that_is_no_json_is_refused(governor: lictor.Governor) -> None:
    with pytest.raises(errors.InvalidEvent, match="not valid JSON"):
        await governor.publish("{")
    twice = read_event(started()).to_json()[:-1] + b',"event_id":"another"}'
    with pytest.raises(errors.InvalidEvent, match="'event_id' stands twice"):
        await governor.publish(twice)


async def test_an_event_over_one_mebibyte_is_refused_and_the_large_field_named(
    governor: lictor.Governor, broker: Client
) -> None:
    task = await governor.start_task("a task")
    with pytest.raises(errors.EventRefused) as caught:
        await task.emit("task_evidence_attached", {"items": evidence(task.task_id, 20)})
    assert str(MAX_EVENT_BYTES) in str(caught.value)
    assert "most of it is payload.items;" in str(caught.value)
    assert len(await read_from(broker, streams.EVENTS, subjects.EVENT.all, 1, 10)) == 1


@pytest.mark.parametrize("event_id", ["a\r\nNats-Rollup: all", " padded ", "é" * 400, "x" * 512])
async def test_an_awkward_event_id_neither_breaks_the_headers_nor_the_duplicate_check(
    governor: lictor.Governor, broker: Client, event_id: str
) -> None:
    first = await governor.publish(started(event_id=event_id))
    again = await governor.publish(started(event_id=event_id))
    assert (first.duplicate, again.duplicate) == (False, True)
    (stored,) = await read_from(broker, streams.EVENTS, subjects.EVENT.all, 1, 10)
    assert json.loads(stored.body)["event_id"] == event_id
    assert "Nats-Rollup" not in stored.headers


async def test_every_publish_starts_a_trace(governor: lictor.Governor, broker: Client) -> None:
    await governor.publish(started())
    await governor.publish(started(event_id="event-2"))
    stored = await read_from(broker, streams.EVENTS, subjects.EVENT.all, 1, 10)
    traces = {one.headers["traceparent"] for one in stored}
    assert len(traces) == 2
    assert all(re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", trace) for trace in traces)


async def test_a_publish_inside_a_span_carries_its_context(
    governor: lictor.Governor, broker: Client
) -> None:
    from opentelemetry import trace

    context = trace.SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(context)):
        await governor.publish(started())
    (stored,) = await read_from(broker, streams.EVENTS, subjects.EVENT.all, 1, 10)
    assert stored.headers["traceparent"] == f"00-{0xABC:032x}-{0xDEF:016x}-01"


async def test_without_a_stream_the_error_says_that_nobody_takes_events(
    clean_infra: Endpoints,
) -> None:
    async with lictor.connect(clean_infra.nats_url) as governor:
        with pytest.raises(errors.Unreachable, match="start the services with `lictor up`"):
            await governor.publish(started(), timeout_s=0.3)


async def test_a_publish_waits_for_nats_to_come_back_and_stores_once(
    own_servers: EmbeddedServers,
) -> None:
    client = await connect_nats(own_servers.nats_url, name="test")
    await streams.declare(client, streams.EVENTS)
    async with lictor.connect(own_servers.nats_url) as governor:
        await governor.publish(started())
        await own_servers.kill_nats()
        waiting = asyncio.create_task(governor.publish(started(event_id="event-2"), timeout_s=60))
        await own_servers.start_nats()
        published = await waiting
        again = await governor.publish(started(event_id="event-2"))
    assert (published.sequence, published.duplicate) == (2, False)
    assert (again.sequence, again.duplicate) == (2, True)
    await client.close()


async def test_a_publish_without_nats_gives_up_with_a_sentence(
    own_servers: EmbeddedServers,
) -> None:
    async with lictor.connect(own_servers.nats_url) as governor:
        await own_servers.kill_nats()
        with pytest.raises(errors.Unreachable, match=r"was not stored within 0\.5 s"):
            await governor.publish(started(), timeout_s=0.5)


async def test_a_closed_connection_says_so(clean_infra: Endpoints) -> None:
    async with lictor.connect(clean_infra.nats_url) as governor:
        pass
    with pytest.raises(errors.Unreachable, match="closed"):
        await governor.publish(started())


async def test_connecting_to_nobody_is_unreachable() -> None:
    with pytest.raises(errors.Unreachable, match=r"NATS does not answer at nats://127.0.0.1:9"):
        async with lictor.connect("nats://127.0.0.1:9", timeout_s=0.3):
            pass
