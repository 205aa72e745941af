"""What a task owes besides its reports is told by the broker's timers, and the evaluator may be away meanwhile."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import nats
from reporting import reach, service_process, wait_until_ready

from lictor_bus.names import subjects
from lictor_bus.wire.publish import Outgoing, publish_one
from lictor_bus.wire.read import read_from
from lictor_local.embedded_servers import Endpoints
from lictor_policy.offline.stories import evidence_item, usual_event
from lictor_schema.decisions.decision import DecisionRecord

EVALUATOR = "lictor_policy_evaluator"


def body(task: str, event_type: str, number: int, **payload: Any) -> bytes:
    """A usual event, of another task and of now."""
    event = json.loads(usual_event(event_type, number=number, **payload).to_json())
    event.update(task_id=task, timestamp=datetime.now(UTC).isoformat())
    for item in event["payload"].get("items", ()):
        item["task_id"] = task
    return json.dumps(event).encode()


async def test_overdue_obligations_are_told_by_timers_that_outlive_the_evaluator(
    clean_infra: Endpoints,
) -> None:
    client = await nats.connect(clean_infra.nats_url)
    due = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
    past = (datetime.now(UTC) - timedelta(seconds=60)).isoformat()
    owing: list[tuple[str, dict[str, Any]]] = [
        ("task_started", {}),
        ("subagent_spawned", {"run_id": "late", "expected_by": due}),
        ("subagent_completed", {"run_id": "unseen", "forward_by": due}),
        (
            "task_checkpoint_sent",
            {"promised_followup": {"what": "the row counts", "due_at": due}},
        ),
    ]
    meeting: list[tuple[str, dict[str, Any]]] = [
        ("subagent_spawn_failed", {"run_id": "late", "operator_notified": True}),
        ("subagent_result_forwarded", {"run_id": "unseen"}),
        ("task_evidence_attached", {"items": [evidence_item(1)]}),
        ("task_checkpoint_sent", {}),
    ]
    told_at_once: list[tuple[str, dict[str, Any]]] = [
        ("task_started", {}),
        ("subagent_completed", {"forward_by": past}),
    ]
    tasks = {"meets": owing + meeting, "owes": owing, "owed": told_at_once}
    sent = sum(map(len, tasks.values()))
    try:
        async with service_process(EVALUATOR, clean_infra) as first:
            await wait_until_ready(client, "policy-evaluator")
            for task, events in tasks.items():
                for number, (event_type, payload) in enumerate(events):
                    subject = subjects.event("openclaw", task)
                    event = body(task, event_type, number, **payload)
                    await publish_one(client, "EVENTS", Outgoing(subject, event, None, {}))
            await reach(client, "DECISIONS", sent + 1)
            first.kill()
            await first.wait()
        async with service_process(EVALUATOR, clean_infra):
            await reach(client, "DECISIONS", sent + 4)
        stored = await read_from(client, "DECISIONS", subjects.DECISION.all, 1, 100)
    finally:
        await client.close()
    records = [DecisionRecord.from_json(each.body) for each in stored]
    told = {(each.task_id, each.decision.policy_id) for each in records if each.runtime == "lictor"}
    assert told == {
        ("owed", "no-silence.subagent-result-not-forwarded"),
        ("owes", "no-silence.subagent-overdue"),
        ("owes", "no-silence.subagent-result-not-forwarded"),
        ("owes", "no-silence.promised-followup-not-delivered"),
    }
    assert len(records) == sent + 4
