"""Bad input of every kind: dead-lettered with a reason that names the field, and the service goes on."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from lictor_bus.logs.dead_letters import find_dead, replay_dead
from lictor_bus.names.subjects import event_message_id
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_schema.core.ids import derived_event_id
from lictor_schema.decisions.decision import Disposition
from lictor_schema.events.event import parse_event


def started(task: str, **changes: Any) -> dict[str, Any]:
    """A valid task_started event, with changes."""
    return {
        "event_id": f"{task}-start",
        "event_type": "task_started",
        "runtime": "test",
        "adapter_version": "1",
        "agent_id": "agent",
        "task_id": task,
        "correlation_id": "flow",
        "timestamp": "2026-01-01T00:00:00Z",
        "payload": {
            "title": "Work",
            "mode": "interactive",
            "workflow_shape": "single-agent",
            "channel": "telegram",
        },
        "evidence_refs": [],
        "operator_context": {},
        **changes,
    }


def without(event: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name != field}


async def test_each_kind_of_bad_event_is_buried_with_its_field_and_the_rest_is_decided(stack):
    future = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    checkpoint = {"message": "hi", "operator_visible": True, "reminder_only": False}
    # Each with the field that the reason must name.
    bad: list[tuple[str, dict[str, Any]]] = [
        ("event_type", started("t1", event_type="task_exploded")),
        ("agent_id", without(started("t2"), "agent_id")),
        ("payload.title", started("t3", payload=checkpoint)),
        ("timestamp", started("t4", timestamp="2026-01-01T00:00:00")),
        ("timestamp", started("t5", timestamp=future)),
        ("task_id", started("t6", event_type="task_checkpoint_sent", payload=checkpoint)),
        ("payload.mode", started("t7", payload={**started("t7")["payload"], "mode": "loud"})),
        ("surprise", started("t8", surprise=True)),
        ("payload", started("t9", payload={**started("t9")["payload"], "title": "x" * 2_000_000})),
    ]
    for _, event in bad:
        await stack.send_event(event)
    await stack.send("lictor.ev.test.raw", b'{"event_id": ')
    await stack.send("lictor.ev.test.utf", b"\xff\xfe")
    await stack.send("lictor.ev.test.other", json.dumps(started("not-other")).encode())
    twice = json.dumps(started("t10")).encode()
    await stack.send(
        "lictor.ev.test.t10", twice.replace(b'{"event_id"', b'{"runtime":"x","event_id"', 1)
    )
    await stack.send_event(started("good"))
    await stack.send_event(started("good", timestamp="2026-01-02T00:00:00Z"))
    await stack.until("DEAD", len(bad) + 5)
    await stack.until("DECISIONS", 1)

    letters = {letter.letter.subject.rpartition(".")[2]: letter for letter in await stack.dead()}
    for number, (field, event) in enumerate(bad, 1):
        letter = letters[f"t{number}"].letter
        assert field in {problem.path for problem in letter.problems}, letter.reason
        assert field in letter.reason
        assert letter.remedy
        assert letters[f"t{number}"].body == json.dumps(event).encode()
    assert "not valid JSON" in letters["raw"].letter.reason
    assert "not valid JSON" in letters["utf"].letter.reason
    assert "task_id" in letters["other"].letter.reason
    assert "twice" in letters["t10"].letter.reason
    assert "event_id" in {problem.path for problem in letters["good"].letter.problems}
    assert [record.task_id for record in await stack.decisions()] == ["good"]


async def test_an_event_on_a_subject_of_any_length_is_buried_with_its_reason(stack):
    await stack.send(f"lictor.ev.test.{'x' * 3000}", json.dumps(started("t1")).encode())
    await stack.until("DEAD", 1)
    [buried] = await stack.dead()
    assert buried.letter.reason.startswith("task_id: 't1' is not the task of subject")
    assert [problem.path for problem in buried.letter.problems] == ["task_id"]


async def test_an_event_of_an_unknown_task_can_be_replayed_once_the_task_has_started(stack):
    late = started(
        "late",
        event_id="late-1",
        event_type="task_checkpoint_sent",
        payload={"message": "hi", "operator_visible": True, "reminder_only": False},
    )
    await stack.send_event(late)
    await stack.until("DEAD", 1)
    [stored_letter] = await stack.dead()
    assert "never started" in stored_letter.letter.reason
    await stack.send_event(started("late"))
    await stack.until("DECISIONS", 1)
    await replay_dead(stack.client, await find_dead(stack.client, stored_letter.sequence))
    await stack.until("DECISIONS", 2)
    assert [record.event_id for record in await stack.decisions()] == ["late-start", "late-1"]


async def test_ids_of_any_spelling_keep_their_task_together(stack):
    strange = ["a.b c", "naïve/ünïcode*>", "日本語", "x" * 500, "$JS.API", "line\nbreak"]
    for task in strange:
        await stack.send_event(started(task))
    await stack.until("DECISIONS", len(strange))
    assert {record.task_id for record in await stack.decisions()} == set(strange)
    assert await stack.dead() == []


async def test_an_agent_cannot_use_up_the_id_of_its_own_overdue_checkpoint(stack):
    task = started("sly")
    task["payload"] = {**task["payload"], "checkpoint_interval_s": 1}
    await stack.send_event(task)
    taken = started(
        "sly",
        event_id=derived_event_id("sly", "checkpoint", "1"),
        event_type="task_checkpoint_sent",
        payload={"message": "hi", "operator_visible": False, "reminder_only": False},
    )
    await stack.send_event(taken)
    junk = event_message_id("lictor", "sly", derived_event_id("sly", "checkpoint", "1"))
    await stack.send("lictor.ev.test.other", b"{}", **{"Nats-Msg-Id": junk})
    await stack.until("DECISIONS", 3)
    decided = [record.decision.decision for record in await stack.decisions()]
    assert Disposition.FORCE_CHECKPOINT in decided


async def test_two_runtimes_may_use_the_same_event_id_in_one_task(stack):
    await stack.send_event(started("shared"))
    for runtime in ("test", "other"):
        message_id = event_message_id(runtime, "shared", "step-1")
        miss = started(
            "shared",
            event_id="step-1",
            runtime=runtime,
            event_type="task_checkpoint_due",
            payload={"checkpoint_number": 1, "due_at": "2026-01-01T00:00:00Z"},
        )
        await stack.send_event(miss, **{"Nats-Msg-Id": message_id})
    await stack.until("DECISIONS", 3)
    decided = [(record.runtime, record.event_id) for record in await stack.decisions()]
    assert decided == [("test", "shared-start"), ("test", "step-1"), ("other", "step-1")]


async def test_another_runtime_can_not_close_a_task(stack):
    await stack.send_event(started("owned"))
    stranger = started(
        "owned",
        event_id="end",
        runtime="other",
        event_type="task_status_changed",
        payload={"to_status": "failed", "reason": "mine now"},
    )
    await stack.send_event(stranger)
    await stack.until("DEAD", 1)
    [stored_letter] = await stack.dead()
    assert "runtime" in stored_letter.letter.reason
    assert "belongs to test" in stored_letter.letter.reason


async def test_one_forged_decision_stops_nobody(stack):
    await publish_one(stack.client, "DECISIONS", Outgoing("lictor.dec.rt.allow.forged", b"garbage"))
    await stack.send_event(started("honest"))
    await stack.until("DECISIONS", 2)
    await stack.until("DEAD", 1)
    [stored_letter] = await stack.dead()
    assert stored_letter.letter.service == "sealer"


def test_a_time_before_1970_in_utc_is_refused_whatever_its_offset():
    with pytest.raises(ValidationError):
        parse_event(json.dumps(started("t", timestamp="1970-01-01T00:00:00+01:00")))
